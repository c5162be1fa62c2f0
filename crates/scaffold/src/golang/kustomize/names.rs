//! Names, namespaces and labels that a kustomization gives its objects.

use serde_json::{Map, Value, json};

use super::{Object, list, text};

/// The namespace, the prefix and the suffix of a kustomization, also where objects name each other.
pub fn rename(kustomization: &Value, objects: &mut [Object]) {
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
pub fn label(kustomization: &Value, objects: &mut [Object]) {
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
