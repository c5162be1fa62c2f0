//! What the Go side deploys besides what kbr writes -> files, permissions and notes: a patch of the Deployment, and `config/imported`.

mod others;
mod pod;
mod roles;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kustomize::METADATA;
use super::yaml::text;
use super::{Found, Object};
use crate::blueprint::Edit;
use crate::imported::Definition;
use crate::project::Head;
use crate::quote::{self, is_plain};
use crate::yaml;
pub use roles::permissions;

/// What is carried, and what is not.
#[derive(Debug, Default)]
pub struct Deployed {
    /// New files, by their paths.
    pub files: Vec<(String, String)>,
    /// Changes of files that kbr writes.
    pub edits: Vec<Edit>,
    /// Notes about the Deployment and what is beside it.
    pub notes: Vec<String>,
    /// Notes about what a deployment would leave in the cluster, with the commands that delete it.
    pub running: Vec<String>,
}

/// Everything but permissions, of which [`permissions`] are a part.
///
/// # Errors
/// An object cannot be written as YAML.
pub fn deployed(found: &Found, head: &Head) -> anyhow::Result<Deployed> {
    let mut deployed = Deployed::default();
    deployed.patch(found, head)?;
    deployed.arguments(found);
    deployed.account(found, head)?;
    deployed.others(found, head)?;
    deployed.labels(found)?;
    let unknown = found.rendered.unknown.iter();
    deployed.notes.extend(unknown.map(|what| {
        let what = what.escape_debug();
        format!("not rendered: {what}; look at what it does to the Deployment and the roles")
    }));
    Ok(deployed)
}

impl Deployed {
    /// What the `ServiceAccount` in Go has besides, such as the annotation by which a cloud grants it a role.
    fn account(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let account = account(found);
        let is_account = |it: &&Object| it.kind() == "ServiceAccount" && it.name() == account;
        let Some(theirs) = found.rendered.objects.iter().find(is_account) else {
            return Ok(());
        };
        let names = head.names();
        let mut metadata = json!({ "name": names.service_account, "namespace": names.namespace });
        let annotations = &theirs.value["metadata"]["annotations"];
        put(&mut metadata, "annotations", annotations.clone());
        let secrets = &theirs.value["imagePullSecrets"];
        if is_empty(annotations) && is_empty(secrets) {
            return Ok(());
        }
        let mut patch =
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
        put(&mut patch, "imagePullSecrets", secrets.clone());
        self.patch_of("ServiceAccount", "config/rbac", &[patch])
    }

    /// A patch in a folder, with its kustomization.
    fn patch_of(&mut self, what: &str, folder: &str, patches: &[Value]) -> anyhow::Result<()> {
        const FILE: &str = "imported_patch.yaml";
        let text = yaml::render(patches)?;
        self.files.push((
            format!("{folder}/{FILE}"),
            format!("# What the project in Go adds to its {what}.\n{text}"),
        ));
        self.edits.push(Edit::append(
            &format!("{folder}/kustomization.yaml"),
            &format!("patches:\n  - path: {FILE}\n"),
        ));
        Ok(())
    }

    /// The labels that kustomizations in Go add to all objects, or to all CRDs, and what they add to single CRDs.
    fn labels(&mut self, found: &Found) -> anyhow::Result<()> {
        let is_crd = |it: &&Object| it.kind() == "CustomResourceDefinition";
        let (crds, others): (Vec<_>, Vec<_>) = found.rendered.objects.iter().partition(is_crd);
        let of_all = common(&others);
        let mut of_crds = common(&crds);
        of_crds.retain(|key, value| of_all.get(key) != Some(value));
        let is_of_all = |key: &str| of_all.contains_key(key) || of_crds.contains_key(key);
        let patches: Vec<_> = crds
            .iter()
            .filter(|crd| is_imported(crd, found))
            .filter_map(|crd| crd_patch(crd, &is_of_all))
            .collect();
        if !patches.is_empty() {
            self.patch_of("CRDs", "config/crd", &patches)?;
        }
        for (path, labels) in [
            ("config/default/kustomization.yaml", of_all),
            ("config/crd/kustomization.yaml", of_crds),
        ] {
            if !labels.is_empty() {
                let pairs = quote::yaml(&json!(labels));
                let text = format!("labels:\n  - pairs: {pairs}\n");
                self.edits.push(Edit::append(path, &text));
            }
        }
        Ok(())
    }
}

/// Whether the project has the kind of a CRD.
fn is_imported(crd: &Object, found: &Found) -> bool {
    let spec = &crd.value["spec"];
    let (kind, group) = (text(&spec["names"]["kind"]), text(&spec["group"]));
    let is_external = |it: &Definition| {
        found
            .project
            .resources
            .iter()
            .any(|one| one.external && one.is_of(it))
    };
    let mut all = found.definitions.iter();
    all.any(|it| it.kind == kind && it.group == group && !is_external(it))
}

/// The labels and annotations that kustomizations in Go add to a CRD, apart from those for cert-manager; `None` without any.
fn crd_patch(crd: &Object, is_of_all: &impl Fn(&str) -> bool) -> Option<Value> {
    let mut patch = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": crd.name() },
    });
    let mut has_any = false;
    for (at, field) in METADATA.iter().enumerate() {
        let fields = crd.value["metadata"][field]
            .as_object()
            .into_iter()
            .flatten();
        let added: Map<_, _> = fields
            .filter(|(key, value)| crd.written[at][key.as_str()] != **value && !is_of_all(key))
            .filter(|(key, value)| {
                let clear = key.chars().chain(text(value).chars()).all(is_plain);
                let is_of_tools =
                    OF_TOOLS.contains(&key.as_str()) || key.starts_with("cert-manager.io/");
                clear && value.is_string() && !is_of_tools
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        has_any |= !added.is_empty();
        put(&mut patch["metadata"], field, added.into());
    }
    has_any.then_some(patch)
}

/// Labels that say by which tool or for what a single object is.
const OF_TOOLS: [&str; 4] = [
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "control-plane",
];

/// The labels that kustomizations add to each of several objects.
fn common(objects: &[&Object]) -> BTreeMap<String, String> {
    let Some((first, others)) = objects.split_first() else {
        return BTreeMap::new();
    };
    let mut found = first.labels.clone();
    for object in others {
        found.retain(|key, value| object.labels.get(key) == Some(value));
    }
    let clear = |text: &String| text.chars().all(is_plain);
    found.retain(|key, value| !OF_TOOLS.contains(&key.as_str()) && clear(key) && clear(value));
    found
}

/// The `ServiceAccount` of the operator; empty if it is not known.
fn account(found: &Found) -> &str {
    let pod = &found.manager.deployment["spec"]["template"]["spec"];
    text(&pod["serviceAccountName"])
}

/// The fields of an object but for some.
fn besides(value: &Value, known: &[&str]) -> Value {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(key, _)| !known.contains(&key.as_str()));
    others
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn put(value: &mut Value, key: &str, field: Value) {
    if let Some(fields) = value.as_object_mut().filter(|_| !is_empty(&field)) {
        fields.insert(key.to_owned(), field);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Without the fields that have nothing.
fn pruned(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !is_empty(field));
    }
    value
}

/// Labels and annotations that neither kbr writes nor a selector has.
fn metadata(theirs: &Value, found: &Found) -> Value {
    let is_selected = |key: &String| found.manager.selector.iter().any(|it| it.0 == *key);
    let labels = besides(&theirs["labels"], &OF_TOOLS);
    let labels: Map<_, _> = labels
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_selected(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let annotations = besides(
        &theirs["annotations"],
        &["kubectl.kubernetes.io/default-container"],
    );
    pruned(json!({ "labels": labels, "annotations": annotations }))
}
