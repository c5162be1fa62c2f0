//! What `kubectl kustomize` renders of a folder, without running it: resources, components, patches, names, namespaces and labels.
//! What it does not know is listed, and never guessed.

use std::collections::BTreeSet;

use kbr_host::yaml::Budget;
use serde_json::{Map, Value, json};

use super::{Files, yaml};

/// An object as it is deployed.
#[derive(Clone, Debug)]
pub struct Object {
    /// The file that it comes from: `config/manager/manager.yaml`.
    pub path: String,
    /// What kustomizations made of it.
    pub value: Value,
    /// The names that it had, by which patches and references may name it.
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
    /// What could not be rendered, a sentence each.
    pub unknown: Vec<String>,
}

impl Object {
    /// Its kind.
    pub fn kind(&self) -> &str {
        self.value["kind"].as_str().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Its namespace; empty for one without.
    pub fn namespace(&self) -> &str {
        let namespace = &self.value["metadata"]["namespace"];
        namespace.as_str().unwrap_or_default()
    }

    fn new(path: &str, value: Value) -> Self {
        let mut object = Object {
            path: path.to_owned(),
            value,
            names: Vec::new(),
        };
        object.names.push(object.name().to_owned());
        object
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn is_of_cluster(&self) -> bool {
        /// Kinds that are in no namespace, of those that come with operators.
        const OF_CLUSTER: [&str; 14] = [
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
            "ValidatingWebhookConfiguration",
        ];
        OF_CLUSTER.contains(&self.kind()) || self.kind() == "ValidatingAdmissionPolicyBinding"
    }
}

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
        let documents = yaml::documents(texts.next()?, self.budget);
        documents.into_iter().next()
    }

    /// What a folder adds to `objects`, and makes of them.
    fn folder(&mut self, folder: &str, objects: Vec<Object>, depth: usize) -> Vec<Object> {
        self.rendered.visited.insert(folder.to_owned());
        let Some(kustomization) = self.kustomization(folder) else {
            return objects;
        };
        if depth == DEEPEST {
            self.unknown(format!("`{folder}` is nested too deep"));
            return objects;
        }
        let mut objects = objects;
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
        self.patch(folder, &kustomization, &mut objects);
        rename(&kustomization, &mut objects);
        label(&kustomization, &mut objects);
        for key in kustomization
            .as_object()
            .into_iter()
            .flatten()
            .map(|it| it.0)
        {
            if !KNOWN.contains(&key.as_str()) {
                self.unknown(format!("`{key}` in `{folder}/kustomization.yaml`"));
            }
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
        let objects = documents.filter(|it| it["kind"].is_string() && it["metadata"].is_object());
        objects.map(|it| Object::new(&path, it)).collect()
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

    fn patch(&mut self, folder: &str, kustomization: &Value, objects: &mut Vec<Object>) {
        for item in list(&kustomization["patchesStrategicMerge"]) {
            let patch = json!({ if item.as_str().is_some_and(|it| !it.contains('\n')) { "path" } else { "patch" }: item });
            self.apply(folder, &patch, objects);
        }
        for key in ["patches", "patchesJson6902"] {
            for patch in list(&kustomization[key]) {
                self.apply(folder, patch, objects);
            }
        }
        for image in list(&kustomization["replicas"]) {
            let (name, count) = (text(&image["name"]), &image["count"]);
            for object in objects.iter_mut().filter(|it| it.has_name(name)) {
                if object.value["spec"].is_object() {
                    object.value["spec"]["replicas"] = count.clone();
                }
            }
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
        for document in yaml::documents(&patch_text, self.budget) {
            let is_json = document.is_array();
            let target = if patch["target"].is_object() {
                patch["target"].clone()
            } else {
                json!({ "kind": document["kind"], "name": document["metadata"]["name"] })
            };
            let mut found = false;
            objects.retain_mut(|object| {
                if !is_target(&target, object) {
                    return true;
                }
                found = true;
                if is_json {
                    list(&document).for_each(|it| operate(&mut object.value, it));
                    return true;
                }
                if document["$patch"] == "delete" {
                    return false;
                }
                let mut document = document.clone();
                // The patch names its object, which may have another name by now.
                if let Some(metadata) = document["metadata"].as_object_mut() {
                    metadata.remove("name");
                    metadata.remove("namespace");
                }
                merge(&mut object.value, &document);
                true
            });
            if !found {
                let (kind, name) = (text(&target["kind"]), text(&target["name"]));
                self.unknown(format!(
                    "a patch of `{kind}` `{name}` in `{folder}/kustomization.yaml`"
                ));
            }
        }
    }

    fn unknown(&mut self, what: String) {
        if !self.rendered.unknown.contains(&what) {
            self.rendered.unknown.push(what);
        }
    }
}

/// The keys of a kustomization that are read, or that change no object.
const KNOWN: [&str; 24] = [
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
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    // The image is that of the new operator.
    "images",
    // For cert-manager, whose certificate the operator replaces.
    "vars",
    "replacements",
    "configurations",
    "sortOptions",
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

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

fn is_target(target: &Value, object: &Object) -> bool {
    let (kind, name) = (text(&target["kind"]), text(&target["name"]));
    let labels = text(&target["labelSelector"]);
    let has_label = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        object.value["metadata"]["labels"][key] == value
    };
    let is_named = name.is_empty() || name == ".*" || object.has_name(name);
    (kind.is_empty() || kind == object.kind())
        && is_named
        && (labels.is_empty() || labels.split(',').all(has_label))
        && (!kind.is_empty() || !name.is_empty() || !labels.is_empty())
}

/// By which field the items of a list are told apart in a strategic merge.
fn merge_key(field: &str) -> Option<&'static str> {
    match field {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" => Some("name"),
        "volumeMounts" => Some("mountPath"),
        "ports" => Some("containerPort"),
        "hostAliases" => Some("ip"),
        _ => None,
    }
}

/// A strategic merge of `patch` into `value`.
fn merge(value: &mut Value, patch: &Value) {
    let (Value::Object(fields), Value::Object(patch)) = (&mut *value, patch) else {
        *value = patch.clone();
        return;
    };
    if patch.get("$patch").is_some_and(|it| it == "replace") {
        fields.clone_from(patch);
        fields.remove("$patch");
        return;
    }
    for (key, patch) in patch {
        match (fields.get_mut(key), merge_key(key)) {
            (_, _) if patch.is_null() => drop(fields.remove(key)),
            (Some(Value::Array(items)), Some(by)) if patch.is_array() => {
                merge_items(items, list(patch), by);
            }
            (Some(known), _) => merge(known, patch),
            (None, _) => drop(fields.insert(key.clone(), patch.clone())),
        }
    }
}

fn merge_items<'a>(items: &mut Vec<Value>, patches: impl Iterator<Item = &'a Value>, by: &str) {
    for patch in patches {
        let is_same = |item: &&mut Value| item[by] == patch[by];
        let is_deletion = patch["$patch"] == "delete";
        if is_deletion {
            items.retain(|item| item[by] != patch[by]);
        } else if let Some(item) = items.iter_mut().find(is_same) {
            merge(item, patch);
        } else {
            items.push(patch.clone());
        }
    }
}

/// One operation of a JSON patch.
fn operate(value: &mut Value, operation: &Value) {
    let path = text(&operation["path"]);
    let Some((parent, last)) = path.rsplit_once('/') else {
        return;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    let Some(parent) = value.pointer_mut(parent) else {
        return;
    };
    let new = operation["value"].clone();
    match (parent, text(&operation["op"])) {
        (Value::Object(fields), "remove") => drop(fields.remove(&last)),
        (Value::Object(fields), "add" | "replace") => drop(fields.insert(last, new)),
        (Value::Array(items), "add") if last == "-" => items.push(new),
        (Value::Array(items), op) => {
            let Some(at) = last.parse().ok().filter(|at| *at < items.len()) else {
                return;
            };
            match op {
                "add" => items.insert(at, new),
                "replace" => items[at] = new,
                "remove" => drop(items.remove(at)),
                _ => {}
            }
        }
        _ => {}
    }
}

/// The namespace, the prefix and the suffix of a kustomization, also where objects name each other.
fn rename(kustomization: &Value, objects: &mut [Object]) {
    let namespace = text(&kustomization["namespace"]);
    let prefix = text(&kustomization["namePrefix"]);
    let suffix = text(&kustomization["nameSuffix"]);
    let mut renamed = Vec::new();
    for object in &mut *objects {
        let is_namespace = object.kind() == "Namespace";
        let name = object.name().to_owned();
        if !namespace.is_empty() && !object.is_of_cluster() {
            object.value["metadata"]["namespace"] = namespace.into();
        }
        let new = match object.kind() {
            "Namespace" if !namespace.is_empty() => namespace.to_owned(),
            "Namespace" | "CustomResourceDefinition" | "APIService" => name.clone(),
            _ => format!("{prefix}{name}{suffix}"),
        };
        if new != name && !name.is_empty() {
            object.value["metadata"]["name"] = new.clone().into();
            object.names.push(new.clone());
            if !is_namespace {
                renamed.push((object.kind().to_owned(), name, new));
            }
        }
    }
    let new_name = |kinds: &[&str], name: &str| {
        let mut found = renamed
            .iter()
            .filter(|(kind, old, _)| kinds.contains(&kind.as_str()) && old == name);
        found.next().map(|(_, _, new)| new.clone())
    };
    for object in objects {
        refer(&mut object.value, &new_name, namespace);
    }
}

/// Changes the names by which an object names others.
fn refer(value: &mut Value, new_name: &dyn Fn(&[&str], &str) -> Option<String>, namespace: &str) {
    let replace = |value: &mut Value, kinds: &[&str]| {
        if let Some(new) = value.as_str().and_then(|name| new_name(kinds, name)) {
            *value = new.into();
        }
    };
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| refer(item, new_name, namespace)),
        Value::Object(fields) => {
            for (key, field) in &mut *fields {
                match key.as_str() {
                    "serviceAccountName" => replace(field, &["ServiceAccount"]),
                    "secretName" => replace(field, &["Secret"]),
                    "secretKeyRef" | "secretRef" if field.is_object() => {
                        replace(&mut field["name"], &["Secret"]);
                    }
                    "configMap" | "configMapRef" | "configMapKeyRef" if field.is_object() => {
                        replace(&mut field["name"], &["ConfigMap"]);
                    }
                    "priorityClassName" => replace(field, &["PriorityClass"]),
                    "roleRef" if field.is_object() => {
                        replace(&mut field["name"], &["Role", "ClusterRole"]);
                    }
                    "service" if field.is_object() => {
                        replace(&mut field["name"], &["Service"]);
                        if !namespace.is_empty() && field["namespace"].is_string() {
                            field["namespace"] = namespace.into();
                        }
                    }
                    "subjects" => {
                        let subjects = field.as_array_mut().into_iter().flatten();
                        for subject in subjects.filter(|it| it["kind"] == "ServiceAccount") {
                            replace(&mut subject["name"], &["ServiceAccount"]);
                            if !namespace.is_empty() {
                                subject["namespace"] = namespace.into();
                            }
                        }
                    }
                    _ => refer(field, new_name, namespace),
                }
            }
        }
        _ => {}
    }
}

/// The labels and annotations of a kustomization.
fn label(kustomization: &Value, objects: &mut [Object]) {
    const METADATA: &[&str] = &["metadata", "labels"];
    const TEMPLATE: &[&str] = &["spec", "template", "metadata", "labels"];
    const SELECTOR: &[&str] = &["spec", "selector", "matchLabels"];
    let mut add = |pairs: &Value, paths: &[&[&str]]| {
        let pairs: Map<_, _> = pairs.as_object().cloned().unwrap_or_default();
        if pairs.is_empty() {
            return;
        }
        for object in &mut *objects {
            for path in paths {
                set(&mut object.value, path, &pairs);
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

/// Adds pairs at a path, of which all but the first and the last part must be there.
fn set(value: &mut Value, path: &[&str], pairs: &Map<String, Value>) {
    let [parents @ .., last] = path else { return };
    let mut place = value;
    for (at, part) in parents.iter().enumerate() {
        let is_there = place.get(part).is_some_and(Value::is_object);
        // `metadata` of a template may be missing, but not the template.
        let may_add = *part == "metadata" && (at == 0 || place.is_object());
        if !is_there && !may_add {
            return;
        }
        if !(place.is_object() || place.is_null()) {
            return;
        }
        place = &mut place[*part];
    }
    if place.is_null() {
        *place = json!({});
    }
    if !place.is_object() {
        return;
    }
    if !place[*last].is_object() {
        place[*last] = json!({});
    }
    if let Some(fields) = place[*last].as_object_mut() {
        fields.extend(pairs.clone());
    }
}
