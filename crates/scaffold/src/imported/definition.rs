//! What a CRD says apart from its schemas.

use serde_json::{Map, Value, json};

use super::keyword::is_open;
use super::normal::normal;
use crate::yaml;

/// A kind.
#[derive(Debug, Clone)]
pub struct Definition {
    /// `crew.example.com`.
    pub group: String,
    /// `Captain`.
    pub kind: String,
    /// `captains`.
    pub plural: String,
    /// `captain`, unless the CRD has another.
    pub singular: String,
    /// For kubectl.
    pub short_names: Vec<String>,
    /// Groups of kinds for kubectl, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Without those of the tools that wrote the file.
    pub annotations: Vec<(String, String)>,
    /// What the types cannot say of the kind, each a sentence.
    pub left_out: Vec<String>,
    /// All versions, in the order of the CRD.
    pub versions: Vec<Version>,
    /// The CRD, without what a cluster or a tool adds to it.
    source: Value,
}

/// A version of a kind.
#[allow(clippy::struct_excessive_bools, reason = "as in the API")]
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`.
    pub name: String,
    /// Whether the API server offers it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether kubectl warns of it.
    pub deprecated: bool,
    /// The text of that warning, if it is not the usual one.
    pub warning: Option<String>,
    /// What `kubectl get` prints, as in the CRD.
    pub columns: Vec<Value>,
    /// JSON paths of fields for field selectors.
    pub selectable: Vec<String>,
    /// Whether the status is a sub-resource.
    pub has_status: bool,
    /// The paths of the sub-resource `scale`, as in the CRD.
    pub scale: Option<Value>,
    /// As the API server stores it.
    pub schema: Map<String, Value>,
}

impl Definition {
    /// Reads a CRD of `apiextensions.k8s.io/v1` that was checked to be one.
    pub fn read(crd: &Value) -> Self {
        let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
        let kind = text(&names["kind"]);
        let singular = names["singular"].as_str().filter(|name| !name.is_empty());
        let annotations = crd["metadata"]["annotations"]
            .as_object()
            .into_iter()
            .flatten();
        let annotations = annotations.filter(|(key, _)| is_kept(key));
        Definition {
            group: text(&spec["group"]),
            plural: text(&names["plural"]),
            singular: singular.map_or_else(|| kind.to_lowercase(), str::to_owned),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            namespaced: spec["scope"] == json!("Namespaced"),
            annotations: annotations
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
            versions: spec["versions"]
                .as_array()
                .into_iter()
                .flatten()
                .map(version)
                .collect(),
            left_out: left_out(crd, &kind),
            source: source(crd),
            kind,
        }
    }
}

impl Definition {
    /// The CRD as YAML, which [`super::read`] reads as the same definition.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn yaml(&self) -> anyhow::Result<String> {
        yaml::render(std::slice::from_ref(&self.source))
    }
}

fn source(crd: &Value) -> Value {
    let metadata = &crd["metadata"];
    let mut source = json!({
        "apiVersion": crd["apiVersion"],
        "kind": crd["kind"],
        "metadata": { "name": metadata["name"] },
        "spec": crd["spec"],
    });
    let annotations = metadata["annotations"].as_object().into_iter().flatten();
    let kept: Map<String, Value> = annotations
        .filter(|(key, _)| is_kept(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !kept.is_empty() {
        source["metadata"]["annotations"] = Value::Object(kept);
    }
    source
}

fn left_out(crd: &Value, kind: &str) -> Vec<String> {
    let spec = &crd["spec"];
    let mut notes = Vec::new();
    let list = spec["names"]["listKind"].as_str().unwrap_or_default();
    if !["", &format!("{kind}List")].contains(&list) {
        let list = list.escape_debug();
        notes.push(format!(
            "the list kind `{list}` becomes `{kind}List`: kube has no other"
        ));
    }
    if spec["conversion"]["strategy"] == json!("Webhook") {
        notes.push(format!(
            "a webhook converts the versions of `{kind}`: create it with `kbr create webhook --conversion`"
        ));
    }
    if spec["preserveUnknownFields"] == json!(true) {
        notes.push(
            "`preserveUnknownFields` is left out: the API server has deprecated it".to_owned(),
        );
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    for version in versions {
        let schema = &version["schema"]["openAPIV3Schema"];
        if is_open(schema) && schema["properties"]["spec"].is_object() {
            notes.push(format!(
                "the type of version {} drops fields beside `spec` that the schema does not name: write with patches, which keep them",
                version["name"].as_str().unwrap_or_default()
            ));
        }
    }
    let labels = crd["metadata"]["labels"].as_object().into_iter().flatten();
    let labels: Vec<String> = labels.map(|(key, _)| format!("`{key}`")).collect();
    if !labels.is_empty() {
        notes.push(format!(
            "left out the labels of the CRD: {}",
            labels.join(", ")
        ));
    }
    notes
}

/// Whether an annotation belongs to the kind, not to the program that wrote or applied the file.
fn is_kept(key: &str) -> bool {
    ![
        "controller-gen.kubebuilder.io/version",
        "kubectl.kubernetes.io/last-applied-configuration",
        "kbr/version",
    ]
    .contains(&key)
}

fn version(version: &Value) -> Version {
    let is = |key: &str| version[key] == json!(true);
    let subresources = &version["subresources"];
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let schema = normal(&version["schema"]["openAPIV3Schema"]);
    Version {
        name: text(&version["name"]),
        served: is("served"),
        storage: is("storage"),
        deprecated: is("deprecated"),
        warning: version["deprecationWarning"].as_str().map(str::to_owned),
        columns: version["additionalPrinterColumns"]
            .as_array()
            .cloned()
            .unwrap_or_default(),
        selectable: selectable.map(|field| text(&field["jsonPath"])).collect(),
        has_status: subresources["status"].is_object(),
        scale: subresources
            .get("scale")
            .filter(|scale| scale.is_object())
            .cloned(),
        schema: schema.as_object().cloned().unwrap_or_default(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}
