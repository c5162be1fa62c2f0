//! The list by which a kind finds its types among those that several kinds of a version share.
//!
//! It has the digest of each type's schema. So the types of a kind depend on its CRD and the list alone: a newer CRD is merged
//! with what the older one became, a later kind uses the types that are there, and a kind that goes takes none of them along.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::names;
use super::node::{Use, core, rest};
use kbr_host::notation::hex;

/// The module of the types, beside those of the kinds: these have no `_` within their names.
pub const SHARED: &str = "shared_types";

/// An object with fewer fields, none of them described, says not what it is.
const TELLING: usize = 3;

/// A type that several kinds of a version share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedType {
    /// Its name in Rust.
    pub name: String,
    /// The digest of the keywords that make it the type that it is.
    pub digest: String,
    /// What its schema says beside these.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub rest: Map<String, Value>,
}

/// The types that the kinds of a group share, by version.
#[derive(Clone, Debug, Default)]
pub struct Shared(pub(super) BTreeMap<String, Vec<SharedType>>);

impl Shared {
    /// Adds the list of a version, apart from types that its file in Rust no longer has.
    ///
    /// # Errors
    /// It is not a list that kbr has written.
    pub fn read(&mut self, version: &str, list: &str, rust: &str) -> anyhow::Result<()> {
        let mut types: Vec<SharedType> = kbr_host::yaml::document(list)?;
        let is_there = |name: &str| {
            let has = |what: &str| rust.contains(&format!("pub {what} {name} {{"));
            is_type(name) && (has("struct") || has("enum"))
        };
        types.retain(|it| is_there(&it.name));
        self.0.insert(version.to_owned(), types);
        Ok(())
    }

    /// The types of a version.
    pub fn of(&self, version: &str) -> &[SharedType] {
        self.0.get(version).map_or(&[], Vec::as_slice)
    }
}

/// Whether a name can be that of a type: it becomes code.
fn is_type(name: &str) -> bool {
    name.starts_with(|it: char| it.is_ascii_uppercase())
        && name.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// The file of the types, beside those of the kinds in `folder`.
pub fn file_path(folder: &str) -> String {
    format!("{folder}/{SHARED}.rs")
}

/// The file in the crate at `folder` with the list of what kinds of a version share.
pub fn list_path(folder: &str, group: &str, version: &str) -> String {
    format!("{folder}/imported/{group}_{version}.shared.yaml")
}

/// How a kind finds shared types.
#[derive(Debug, Default)]
pub struct Sharing<'a> {
    types: Vec<&'a SharedType>,
    /// By their digests.
    places: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Sharing<'a> {
    /// Without types whose names the kind needs for itself: those of its `roots`, and its own.
    pub fn new(roots: &[(String, &Value)], types: &'a [SharedType]) -> Self {
        let is_free = |it: &&SharedType| {
            let mut names = roots.iter().map(|(name, _)| name.as_str());
            !names.any(|name| name == it.name || kind_of(name) == it.name)
        };
        let types: Vec<&SharedType> = types.iter().filter(is_free).collect();
        let mut places: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, it) in types.iter().enumerate() {
            places.entry(it.digest.as_str()).or_default().push(at);
        }
        Sharing { types, places }
    }

    /// The type of a node that is the field `name`, or an item of it.
    pub fn find(&self, schema: &Value, at: Use, name: &str) -> Option<(usize, &'a SharedType)> {
        if self.types.is_empty() {
            return None;
        }
        let all = self.places.get(hex(&core(schema)).as_str())?;
        let types = || all.iter().map(|at| (*at, self.types[*at]));
        let rest = rest(schema);
        let exact = types().find(|(_, it)| it.rest == rest);
        let any = || types().next().filter(|_| at == Use::Field);
        exact
            .or_else(any)
            .filter(|(_, it)| is_named(schema, name, &it.name))
    }
}

/// The kind of a type with a fixed name.
fn kind_of(root: &str) -> &str {
    let ends = ["Spec", "Status", "Fields"];
    ends.iter()
        .find_map(|end| root.strip_suffix(end))
        .unwrap_or(root)
}

/// Whether the field `name` of this schema may have the type `ty`. An enum, or an object of which the schema says little, may be equal
/// to another one by chance: then the name decides.
pub fn is_named(schema: &Value, name: &str, ty: &str) -> bool {
    let fields = schema["properties"].as_object();
    let fields = || fields.into_iter().flatten().map(|(_, field)| field);
    let is_telling = fields().count() >= TELLING
        || fields().any(|field| {
            field["description"]
                .as_str()
                .is_some_and(|it| !it.is_empty())
        });
    is_telling || ty.ends_with(&names::pascal(&names::singular(name)))
}
