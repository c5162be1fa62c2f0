//! Patches of objects: strategic merges and JSON patches, and which objects they are for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Object;
use crate::golang::yaml::{list, text};

/// Whether a patch is for an object. A name that is a pattern matches nothing, and is reported.
pub fn is_target(target: &Value, object: &Object) -> bool {
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

/// The field that identifies the items of a list in a strategic merge.
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
pub fn merge(value: &mut Value, patch: &Value) {
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

/// Merges items with the ones of the same key.
fn merge_items<'a>(items: &mut Vec<Value>, patches: impl Iterator<Item = &'a Value>, by: &str) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        places.entry(item[by].to_string()).or_insert(at);
    }
    for patch in patches {
        match places.get(&patch[by].to_string()) {
            Some(at) if patch["$patch"] == "delete" => items[*at] = Value::Null,
            Some(at) => merge(&mut items[*at], patch),
            None => items.push(patch.clone()),
        }
    }
    items.retain(|item| !item.is_null());
}

/// One operation of a JSON patch.
pub fn operate(value: &mut Value, operation: &Value) {
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
