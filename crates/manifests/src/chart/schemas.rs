//! JSON schemas of what a chart's users can set: as strict as Kubernetes about types and names, so that a mistake fails before it reaches
//! the cluster. `null` is Helm's way to remove a default.

use serde_json::{Value, json};

/// Any mapping.
pub fn object() -> Value {
    json!({ "type": ["object", "null"] })
}

/// A list of any mappings.
pub fn objects() -> Value {
    json!({ "type": ["array", "null"], "items": { "type": "object" } })
}

/// A list of mappings with names.
pub fn named() -> Value {
    json!({
        "type": "array",
        "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string", "minLength": 1 } } },
    })
}

/// Secrets by name.
pub fn references() -> Value {
    let reference = json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": { "name": { "type": "string", "minLength": 1 } },
    });
    json!({ "type": ["array", "null"], "items": reference })
}

/// Flags.
pub fn flags() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// Volumes to mount.
pub fn mounts() -> Value {
    let mount = json!({
        "type": "object",
        "required": ["name", "mountPath"],
        "properties": { "name": { "type": "string" }, "mountPath": { "type": "string", "minLength": 1 } },
    });
    json!({ "type": "array", "items": mount })
}

/// Labels: of the API server's grammar.
pub fn labels() -> Value {
    entries(
        &json!({ "type": "string", "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", "maxLength": 63 }),
    )
}

/// Annotations.
pub fn annotations() -> Value {
    entries(&json!({ "type": "string" }))
}

/// Labels that nodes have.
pub fn selector() -> Value {
    let mut labels = labels();
    labels["type"] = json!(["object", "null"]);
    labels
}

fn entries(value: &Value) -> Value {
    let key = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
    json!({ "type": "object", "propertyNames": { "pattern": key, "maxLength": 317 }, "additionalProperties": value })
}

/// Requests and limits.
pub fn resources() -> Value {
    let quantity = json!({
        "anyOf": [
            { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$" },
            { "type": "number", "minimum": 0 },
        ]
    });
    let quantities = json!({ "type": "object", "additionalProperties": quantity });
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": { "limits": quantities, "requests": quantities, "claims": { "type": "array" } },
    })
}

/// Taints that are tolerated.
pub fn tolerations() -> Value {
    let text = json!({ "type": "string" });
    let toleration = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "key": text,
            "operator": { "enum": ["Exists", "Equal"] },
            "value": text,
            "effect": { "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"] },
            "tolerationSeconds": { "type": "integer" },
        },
    });
    json!({ "type": ["array", "null"], "items": toleration })
}

/// How many.
pub fn count() -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0, "maximum": i32::MAX })
}

/// Yes or no.
pub fn boolean() -> Value {
    json!({ "type": ["boolean", "null"] })
}

/// A name of an object.
pub fn name() -> Value {
    json!({ "type": ["string", "null"], "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" })
}

/// When an image is pulled.
pub fn pull_policy() -> Value {
    json!({ "enum": ["Always", "IfNotPresent", "Never", null] })
}
