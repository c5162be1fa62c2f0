//! The parts of an object that a write may set, and those that the server sets.

use serde_json::{Value, json};

use super::{kinds::Kind, patch::tidy, path::Path};

/// Fields of the metadata that only the server sets.
const SERVERS: [&str; 5] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "selfLink",
];

/// The parts of `changed` that a request may write: at `/status` only the status, elsewhere everything else. Fields
/// that only the server sets keep their values.
pub(super) fn split(path: &Path, kind: &Kind, old: &Value, mut changed: Value) -> Value {
    let mut object = if path.subresource == "status" {
        let mut object = old.clone();
        restore(&mut object, &changed, "status");
        if kind.built_in {
            let labels = old["metadata"]["labels"].clone();
            object["metadata"] = changed["metadata"].take();
            object["metadata"]["labels"] = labels;
        }
        object
    } else {
        if kind.status {
            restore(&mut changed, old, "status");
        }
        changed
    };
    let (meta, old) = (&mut object["metadata"], &old["metadata"]);
    for field in SERVERS
        .into_iter()
        .chain(["name", "namespace", "uid", "resourceVersion"])
    {
        meta[field] = old[field].clone();
    }
    tidy(object, kind)
}

/// Whether a change increments the generation: any change outside metadata and status. For a Deployment, a change of
/// its annotations does, too.
pub(super) fn bumps(kind: &Kind, old: &Value, new: &Value) -> bool {
    let counted = |object: &Value| {
        let mut object = object.clone();
        let annotations = object["metadata"]["annotations"].take();
        object["metadata"] = if kind.name == "Deployment" {
            annotations
        } else {
            Value::Null
        };
        if kind.status {
            object["status"] = Value::Null;
        }
        object
    };
    counted(old) != counted(new)
}

/// Gives an object the field of another, or none if that has none.
pub(super) fn restore(object: &mut Value, from: &Value, field: &str) {
    match (object, from.get(field)) {
        (object, Some(value)) => object[field] = value.clone(),
        (Value::Object(fields), None) => drop(fields.remove(field)),
        _ => {}
    }
}

/// An object for creation: without the fields that the server sets.
pub(super) fn fresh(body: &Value, kind: &Kind, path: &Path) -> Value {
    let mut object = body.clone();
    if kind.status {
        restore(&mut object, &Value::Null, "status");
    }
    object["apiVersion"] = json!(path.api_version());
    if !kind.name.is_empty() {
        object["kind"] = json!(kind.name);
    }
    for field in SERVERS
        .into_iter()
        .chain(["uid", "managedFields", "resourceVersion"])
    {
        object["metadata"][field] = Value::Null;
    }
    tidy(object, kind)
}

/// The object before its creation. Kubernetes' own kinds are structs, so their spec always exists.
pub(super) fn nothing(kind: &Kind, object: &Value) -> Value {
    if kind.built_in && object["spec"].is_object() {
        return json!({"spec": {}});
    }
    json!({})
}
