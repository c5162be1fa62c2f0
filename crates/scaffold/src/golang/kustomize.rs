//! What `kubectl kustomize` renders of a folder, without running it: resources, components, patches, names, namespaces and labels.
//! What it does not know is listed, and never guessed.

mod names;
mod patches;

use std::collections::{BTreeMap, BTreeSet};

use kbr_host::yaml::Budget;
use serde_json::{Value, json};

use super::Files;
use super::yaml::{self, list, text};
use names::{label, rename};
use patches::{is_target, merge, operate};

/// An object as it is deployed.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file that it comes from: `config/manager/manager.yaml`.
    pub path: String,
    /// What kustomizations made of it.
    pub value: Value,
    /// The labels that kustomizations add to all of their objects.
    pub labels: BTreeMap<String, String>,
    /// The labels and annotations that its file has.
    pub written: [Value; 2],
    /// The names that it had, by which patches may name it.
    names: Vec<String>,
}

/// What a folder renders.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The objects, in the order of the kustomizations.
    pub objects: Vec<Object>,
    /// Files and folders that are part of it, also those that are missing, since `make manifests` writes some.
    pub visited: BTreeSet<String>,
    /// The prefix of the folder's own kustomization.
    pub prefix: Option<String>,
    /// The folders whose kustomizations patch webhooks, of which kbr generates its own configurations.
    pub webhook_patches: BTreeSet<String>,
    /// What could not be rendered, a sentence each.
    pub unknown: BTreeSet<String>,
}

impl Object {
    /// Its kind.
    pub fn kind(&self) -> &str {
        text(&self.value["kind"])
    }

    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.value["metadata"]["name"])
    }

    /// Its namespace; empty for one without.
    pub fn namespace(&self) -> &str {
        text(&self.value["metadata"]["namespace"])
    }

    fn new(path: &str, value: Value) -> Self {
        let written = METADATA.map(|it| value["metadata"][it].clone());
        let mut object = Object {
            path: path.to_owned(),
            value,
            written,
            labels: BTreeMap::new(),
            names: Vec::new(),
        };
        object.names.push(object.name().to_owned());
        object
    }

    /// Whether it is an object, which a patch may have changed.
    fn is_whole(&self) -> bool {
        self.value["kind"].is_string() && self.value["metadata"].is_object()
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn is_of_cluster(&self) -> bool {
        /// Kinds that are in no namespace, of those that come with operators.
        const OF_CLUSTER: [&str; 15] = [
            "APIService",
            "ClusterIssuer",
            "ClusterRole",
            "ClusterRoleBinding",
            "CustomResourceDefinition",
            "IngressClass",
            "MutatingWebhookConfiguration",
            "Namespace",
            "PersistentVolume",
            "PriorityClass",
            "SecurityContextConstraints",
            "StorageClass",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ];
        OF_CLUSTER.contains(&self.kind())
    }
}

/// What of its metadata a kustomization may add to an object.
pub const METADATA: [&str; 2] = ["labels", "annotations"];

/// The deepest nesting of kustomizations.
const DEEPEST: usize = 16;

/// Renders a folder.
pub fn render(files: &Files, folder: &str, budget: &mut Budget) -> Rendered {
    let mut rendering = Rendering {
        patches: 0,
        files,
        budget,
        rendered: Rendered::default(),
    };
    let objects = rendering.folder(folder, Vec::new(), 0);
    let kustomization = rendering.kustomization(folder);
    let prefix = kustomization.map(|it| text(&it["namePrefix"]).to_owned());
    Rendered {
        objects,
        prefix,
        ..rendering.rendered
    }
}

/// The most patches, each of which is compared with all objects.
const MOST: usize = 1000;

struct Rendering<'a> {
    patches: usize,
    files: &'a Files,
    budget: &'a mut Budget,
    rendered: Rendered,
}

impl Rendering<'_> {
    fn kustomization(&mut self, folder: &str) -> Option<Value> {
        let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
        let mut texts = names
            .iter()
            .filter_map(|name| self.files.get(&format!("{folder}/{name}")));
        let found = yaml::documents(texts.next()?, self.budget)
            .into_iter()
            .next();
        if found.is_none() {
            self.unknown(format!("`{folder}/kustomization.yaml`, which is not YAML"));
        }
        found.map(|it| spelled(it, &[&EVERYWHERE[..], &KNOWN, &NESTED].concat()))
    }

    /// What a folder adds to `objects`, and makes of them.
    fn folder(&mut self, folder: &str, mut objects: Vec<Object>, depth: usize) -> Vec<Object> {
        self.rendered.visited.insert(folder.to_owned());
        let Some(kustomization) = self.kustomization(folder) else {
            return objects;
        };
        if depth == DEEPEST {
            self.unknown(format!("`{folder}` is nested too deep"));
            return objects;
        }
        for item in items(&kustomization, &["resources", "bases"]) {
            objects.extend(self.resource(folder, item, depth));
        }
        for item in items(&kustomization, &["components"]) {
            let path = below(folder, item);
            if let Some(path) = path.filter(|it| !self.rendered.visited.contains(it)) {
                objects = self.folder(&path, objects, depth + 1);
            }
        }
        self.generate(folder, &kustomization);
        self.replace(folder, &kustomization);
        self.patch(folder, &kustomization, &mut objects);
        let everywhere = EVERYWHERE
            .iter()
            .map(|key| kustomization[*key].to_string().len());
        if self.may_change(objects.len(), everywhere.sum()) {
            rename(&kustomization, &mut objects);
            label(&kustomization, &mut objects);
        }
        self.variables(folder, &kustomization, &objects);
        let keys = kustomization.as_object().into_iter().flatten();
        let is_known = |key: &str| KNOWN.contains(&key) || EVERYWHERE.contains(&key);
        for (key, _) in keys.filter(|(key, _)| !is_known(key)) {
            self.unknown(format!("`{key}` in `{folder}/kustomization.yaml`"));
        }
        objects
    }

    fn resource(&mut self, folder: &str, item: &str, depth: usize) -> Vec<Object> {
        let Some(path) = below(folder, item).filter(|_| !item.contains("://")) else {
            self.unknown(format!("`{item}` in `{folder}/kustomization.yaml`"));
            return Vec::new();
        };
        // A resource that is there twice is an error of kustomize.
        if self.rendered.visited.contains(&path) {
            return Vec::new();
        }
        let Some(text) = self.files.get(&path) else {
            return self.folder(&path, Vec::new(), depth + 1);
        };
        self.rendered.visited.insert(path.clone());
        let documents = yaml::documents(text, self.budget).into_iter();
        let objects = documents.map(|it| Object::new(&path, it));
        objects.filter(Object::is_whole).collect()
    }

    /// Generators, whose objects have a hash in their names.
    fn generate(&mut self, folder: &str, kustomization: &Value) {
        for (key, kind) in [
            ("configMapGenerator", "ConfigMap"),
            ("secretGenerator", "Secret"),
        ] {
            for generator in list(&kustomization[key]) {
                let name = text(&generator["name"]);
                self.unknown(format!(
                    "the generated {kind} `{name}` of `{folder}/kustomization.yaml`"
                ));
            }
        }
    }

    /// Replacements in a Deployment; others are for the names of cert-manager's certificate, which the operator replaces.
    fn replace(&mut self, folder: &str, kustomization: &Value) {
        for replacement in list(&kustomization["replacements"]) {
            let targets = || list(&replacement["targets"]);
            if targets().any(|it| it["select"]["kind"] == "Deployment") {
                let paths = targets().flat_map(|it| list(&it["fieldPaths"]));
                let paths: Vec<_> = paths.map(text).collect();
                self.unknown(format!(
                    "a replacement in the Deployment of `{folder}/kustomization.yaml`, `{}`",
                    paths.join(" ")
                ));
            }
        }
    }

    /// Variables in a Deployment; others are for the names of cert-manager's certificate, which the operator replaces.
    fn variables(&mut self, folder: &str, kustomization: &Value, objects: &[Object]) {
        let names: BTreeSet<_> = list(&kustomization["vars"])
            .map(|it| text(&it["name"]))
            .collect();
        for object in objects
            .iter()
            .filter(|it| it.kind() == "Deployment" && !names.is_empty())
        {
            let value = object.value.to_string();
            for used in value.split("$(").skip(1) {
                let used = used.split(')').next().unwrap_or_default();
                if names.contains(used) {
                    self.unknown(format!(
                        "the variable `{used}` of `{folder}/kustomization.yaml`"
                    ));
                }
            }
        }
    }

    fn patch(&mut self, folder: &str, kustomization: &Value, objects: &mut Vec<Object>) {
        for item in list(&kustomization["patchesStrategicMerge"]) {
            let key = if text(item).contains('\n') {
                "patch"
            } else {
                "path"
            };
            self.apply(folder, &json!({ key: item }), objects);
        }
        for key in ["patches", "patchesJson6902"] {
            for patch in list(&kustomization[key]) {
                self.apply(folder, patch, objects);
            }
        }
        for replicas in list(&kustomization["replicas"]) {
            let patch = json!({
                "target": { "name": replicas["name"] },
                "patch": json!({ "spec": { "replicas": replicas["count"] } }).to_string(),
            });
            self.apply(folder, &patch, objects);
        }
    }

    fn apply(&mut self, folder: &str, patch: &Value, objects: &mut Vec<Object>) {
        self.patches += 1;
        if self.patches > MOST {
            self.unknown(format!("more than {MOST} patches"));
            return;
        }
        let inline = patch["patch"].as_str().map(str::to_owned);
        let file = patch["path"].as_str().and_then(|it| below(folder, it));
        if let Some(file) = &file {
            self.rendered.visited.insert(file.clone());
        }
        let text_of = inline.or_else(|| self.files.get(file.as_ref()?).cloned());
        let Some(patch_text) = text_of else {
            let missing = text(&patch["path"]);
            self.unknown(format!(
                "the patch `{missing}` of `{folder}/kustomization.yaml`"
            ));
            return;
        };
        let documents = yaml::documents(&patch_text, self.budget).into_iter();
        for document in documents.filter(|it| it.is_array() || it.is_object()) {
            let is_json = document.is_array();
            let target = if patch["target"].is_object() {
                patch["target"].clone()
            } else {
                json!({ "kind": document["kind"], "name": document["metadata"]["name"] })
            };
            let is_of_webhooks = text(&target["kind"]).ends_with("WebhookConfiguration");
            let mut changes = list(&document).map(|it| text(&it["path"]));
            if is_of_webhooks
                && (document["webhooks"].is_array()
                    || changes.any(|it| it.starts_with("/webhooks")))
            {
                self.rendered.webhook_patches.insert(folder.to_owned());
            }
            let mut found = false;
            objects.retain_mut(|object| {
                if !is_target(&target, object) {
                    return true;
                }
                found = true;
                if !self.may_change(1, patch_text.len()) {
                    return true;
                }
                if is_json {
                    list(&document).for_each(|it| operate(&mut object.value, it));
                    return true;
                }
                if document["$patch"] == "delete" {
                    return false;
                }
                let mut document = document.clone();
                // The patch names its object, which may have another name by now.
                if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
                    metadata.remove("name");
                    metadata.remove("namespace");
                }
                merge(&mut object.value, &document);
                true
            });
            objects.retain(Object::is_whole);
            if !found {
                let (kind, name) = (text(&target["kind"]), text(&target["name"]));
                self.unknown(format!(
                    "a patch of `{kind}` `{name}` in `{folder}/kustomization.yaml`"
                ));
            }
        }
    }

    /// Counts text that becomes a part of several objects: a few lines can repeat it millions of times.
    fn may_change(&mut self, objects: usize, bytes: usize) -> bool {
        self.budget.spend(objects, objects.saturating_mul(bytes));
        !self.budget.is_spent()
    }

    fn unknown(&mut self, what: String) {
        self.rendered.unknown.insert(what);
    }
}

/// A kustomization whose keys are spelled as here: Go reads them whatever their case.
fn spelled(value: Value, known: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let right = known.iter().find(|it| it.eq_ignore_ascii_case(&key));
                match right {
                    // The keys below are those of objects.
                    Some(key) if OF_OBJECTS.contains(key) => ((*key).to_owned(), value),
                    Some(key) => ((*key).to_owned(), spelled(value, known)),
                    None => (key, value),
                }
            });
            fields.collect()
        }
        Value::Array(items) => items.into_iter().map(|it| spelled(it, known)).collect(),
        scalar => scalar,
    }
}

/// Keys of which each has labels or annotations.
const OF_OBJECTS: [&str; 3] = ["commonLabels", "commonAnnotations", "pairs"];

/// The keys that are read below others.
const NESTED: [&str; 16] = [
    "count",
    "fieldPaths",
    "group",
    "includeSelectors",
    "includeTemplates",
    "labelSelector",
    "name",
    "pairs",
    "patch",
    "path",
    "select",
    "target",
    "targets",
    "version",
    "annotationSelector",
    "options",
];

/// The keys of a kustomization that change all of its objects.
const EVERYWHERE: [&str; 6] = [
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
];

/// The other keys of a kustomization that are read, or that change no object.
const KNOWN: [&str; 18] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "bases",
    "components",
    "configMapGenerator",
    "secretGenerator",
    "generatorOptions",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "replicas",
    // The image is that of the new operator.
    "images",
    // For cert-manager, whose certificate the operator replaces.
    "vars",
    "replacements",
    "configurations",
    "sortOptions",
];

fn items<'a>(kustomization: &'a Value, keys: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let lists = keys.iter().flat_map(|key| list(&kustomization[*key]));
    lists.filter_map(Value::as_str)
}

/// `config/default` and `../webhook` are `config/webhook`; `None` outside of the root.
pub fn below(folder: &str, item: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in item.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
