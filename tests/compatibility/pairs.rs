//! Pairs of definitions: a change, in each place where the API server treats it differently.

mod schemas;
mod wholes;

use serde_json::{Value, json};

/// A definition before and after a change.
pub struct Pair {
    /// `maximum-lowered keyed`: the change, then the place.
    pub name: String,
    pub old: Value,
    pub new: Value,
    /// An object of version `v1` that is valid before.
    pub object: Value,
    /// The pointers of texts that an update may change without touching what is invalid afterwards.
    pub neighbours: Vec<String>,
    /// A request that works before, after the path of the object or of all objects (`?`).
    pub request: Option<&'static str>,
}

/// The group of all kinds.
pub const GROUP: &str = "compat.example.com";

impl Pair {
    pub fn plural(&self) -> &str {
        self.old["spec"]["names"]["plural"]
            .as_str()
            .expect("a plural")
    }
}

/// All pairs, sorted by change.
pub fn all() -> Vec<Pair> {
    let mut all = schemas::pairs();
    all.extend(wholes::pairs());
    all
}

/// A definition with one version.
fn definition(name: &str, schema: &Value) -> Value {
    let word: String = name.chars().filter(char::is_ascii_lowercase).collect();
    let mut kind = word.clone();
    kind[..1].make_ascii_uppercase();
    let plural = format!("{word}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": word },
            "versions": [version("v1", schema, true)],
        },
    })
}

/// A version that is served.
fn version(name: &str, spec: &Value, storage: bool) -> Value {
    json!({
        "name": name, "served": true, "storage": storage,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": spec,
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" } } },
        } } },
    })
}

/// The object of a kind.
fn object(definition: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": definition["spec"]["names"]["kind"],
        "metadata": { "name": "first", "namespace": "default" },
        "spec": spec,
    })
}
