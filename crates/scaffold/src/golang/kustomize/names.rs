//! Names, namespaces and labels that a kustomization gives its objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Object;
use crate::golang::yaml::{list, text};

/// The namespace, the prefix and the suffix of a kustomization, also where objects name each other.
pub fn rename(kustomization: &Value, objects: &mut [Object]) {
    let namespace = text(&kustomization["namespace"]);
    let prefix = text(&kustomization["namePrefix"]);
    let suffix = text(&kustomization["nameSuffix"]);
    let mut renamed = Renamed {
        namespace,
        accounts: objects
            .iter()
            .filter(|it| it.kind() == "ServiceAccount")
            .map(|it| place(&it.value["metadata"]))
            .collect(),
        names: BTreeMap::new(),
    };
    for object in &mut *objects {
        let (kind, name) = (object.kind().to_owned(), object.name().to_owned());
        if !namespace.is_empty() && !object.is_of_cluster() {
            object.value["metadata"]["namespace"] = namespace.into();
        }
        let new = match kind.as_str() {
            "Namespace" if !namespace.is_empty() => namespace.to_owned(),
            "Namespace" | "CustomResourceDefinition" | "APIService" => continue,
            _ => format!("{prefix}{name}{suffix}"),
        };
        object.value["metadata"]["name"] = new.clone().into();
        object.names.push(new.clone());
        renamed.names.insert((kind, name), new);
    }
    for object in objects {
        renamed.refer(&mut object.value);
    }
}

/// What objects are called now.
struct Renamed<'a> {
    namespace: &'a str,
    /// The earlier namespaces and names of accounts.
    accounts: BTreeSet<(String, String)>,
    /// By kind and earlier name.
    names: BTreeMap<(String, String), String>,
}

impl Renamed<'_> {
    /// Changes the name of another object, of one of several kinds.
    fn replace(&self, name: Option<&mut Value>, kinds: &[&str]) {
        let Some(name) = name else { return };
        let old = text(name).to_owned();
        let new = |kind: &&str| self.names.get(&((*kind).to_owned(), old.clone()));
        if let Some(new) = kinds.iter().find_map(new) {
            *name = new.as_str().into();
        }
    }

    /// Changes the names by which a part of an object names others.
    fn refer(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.refer(item)),
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.field(key, field);
                }
            }
            _ => {}
        }
    }

    fn field(&self, key: &str, field: &mut Value) {
        match key {
            "serviceAccountName" => self.replace(Some(field), &["ServiceAccount"]),
            "secretName" => self.replace(Some(field), &["Secret"]),
            "priorityClassName" => self.replace(Some(field), &["PriorityClass"]),
            "secretKeyRef" | "secretRef" => self.replace(field.get_mut("name"), &["Secret"]),
            "configMap" | "configMapRef" | "configMapKeyRef" => {
                self.replace(field.get_mut("name"), &["ConfigMap"]);
            }
            "roleRef" => self.replace(field.get_mut("name"), &["Role", "ClusterRole"]),
            "service" => {
                self.replace(field.get_mut("name"), &["Service"]);
                self.place(field.get_mut("namespace"));
            }
            "subjects" => {
                let subjects = field.as_array_mut().into_iter().flatten();
                for subject in subjects.filter(|it| it["kind"] == "ServiceAccount") {
                    // kustomize leaves accounts alone that it does not render there, apart from that of each namespace.
                    let is_known = self.accounts.contains(&place(subject));
                    if is_known || subject["name"] == "default" {
                        self.replace(subject.get_mut("name"), &["ServiceAccount"]);
                        self.place(subject.get_mut("namespace"));
                    }
                }
            }
            _ => self.refer(field),
        }
    }

    fn place(&self, namespace: Option<&mut Value>) {
        let namespace = namespace.filter(|_| !self.namespace.is_empty());
        if let Some(namespace) = namespace {
            *namespace = self.namespace.into();
        }
    }
}

/// A namespace and a name.
fn place(value: &Value) -> (String, String) {
    let namespace = value["namespace"].as_str().unwrap_or("default");
    (namespace.to_owned(), text(&value["name"]).to_owned())
}

/// The labels and annotations of a kustomization.
pub fn label(kustomization: &Value, objects: &mut [Object]) {
    const METADATA: &[&str] = &["metadata", "labels"];
    const TEMPLATE: &[&str] = &["spec", "template", "metadata", "labels"];
    const SELECTOR: &[&str] = &["spec", "selector", "matchLabels"];
    let mut add = |pairs: &Value, paths: &[&[&str]]| {
        let Some(pairs) = pairs.as_object() else {
            return;
        };
        for object in &mut *objects {
            for path in paths {
                set(&mut object.value, path, pairs);
            }
            if paths.contains(&METADATA) {
                let labels = pairs
                    .iter()
                    .map(|(key, it)| (key.clone(), text(it).to_owned()));
                object.labels.extend(labels);
            }
        }
    };
    add(
        &kustomization["commonLabels"],
        &[METADATA, TEMPLATE, SELECTOR],
    );
    add(
        &kustomization["commonAnnotations"],
        &[&["metadata", "annotations"]],
    );
    for entry in list(&kustomization["labels"]) {
        let selectors = entry["includeSelectors"] == true;
        let templates = selectors || entry["includeTemplates"] == true;
        let mut paths = vec![METADATA];
        paths.extend(templates.then_some(TEMPLATE));
        paths.extend(selectors.then_some(SELECTOR));
        add(&entry["pairs"], &paths);
    }
}

/// Adds pairs at a path. `metadata` may be missing in a template, but not what is above it.
fn set(value: &mut Value, path: &[&str], pairs: &Map<String, Value>) {
    let mut place = value;
    for (at, part) in path.iter().enumerate() {
        let is_last = at + 1 == path.len();
        let Value::Object(fields) = place else { return };
        if is_last || *part == "metadata" {
            fields.entry(*part).or_insert_with(|| json!({}));
        }
        let Some(next) = fields.get_mut(*part) else {
            return;
        };
        place = next;
    }
    if let Value::Object(fields) = place {
        fields.extend(pairs.clone());
    }
}
