//! What people do to objects by hand.

use serde_json::{Value, json};

/// An object with what the user has written of it before: neither its status nor its finalizers.
pub(super) fn restored(now: &Value, mut before: Value) -> Value {
    let mut meta = now["metadata"].clone();
    for field in ["labels", "annotations"] {
        copy(field, &before["metadata"], &mut meta);
    }
    copy("generation", &Value::Null, &mut meta);
    before["metadata"] = meta;
    copy("status", now, &mut before);
    before
}

/// Makes a field of one object what it is in another, or absent.
fn copy(field: &str, from: &Value, to: &mut Value) {
    let Some(to) = to.as_object_mut() else {
        return;
    };
    match from.get(field) {
        Some(value) => drop(to.insert(field.to_owned(), value.clone())),
        None => drop(to.remove(field)),
    }
}

/// Changes a value that everyone may change: neither a name nor what the API server keeps as it is.
pub(super) fn corrupt(object: &mut Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = text(&object["apiVersion"]);
    let is_custom = group.contains('.') && !group.contains(".k8s.io/");
    match text(&object["kind"]).as_str() {
        "ConfigMap" => corrupt_first(&mut object["data"]),
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            corrupt_first(&mut object["spec"]["replicas"])
        }
        "Secret" => {
            let mut data = object["data"].as_object_mut().into_iter().flatten();
            // `by-hand` in base64.
            data.next()
                .map(|(_, value)| *value = json!("YnktaGFuZA=="))
                .is_some()
        }
        _ if is_custom => corrupt_first(&mut object["spec"]),
        _ => false,
    };
}

fn corrupt_first(value: &mut Value) -> bool {
    match value {
        Value::Null => return false,
        Value::Bool(it) => *it = !*it,
        Value::Number(it) => *value = json!(it.as_i64().unwrap_or_default() + 1),
        Value::String(it) => it.push_str("-by-hand"),
        Value::Array(items) => return items.iter_mut().any(corrupt_first),
        Value::Object(fields) => {
            let mut fields = fields.iter_mut().filter(|(field, _)| *field != "name");
            return fields.any(|(_, value)| corrupt_first(value));
        }
    }
    true
}
