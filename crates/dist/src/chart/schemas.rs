//! JSON schemas of what a chart's users can set: as strict as Kubernetes about types and names, so that a mistake fails before it reaches
//! the cluster. `null` is Helm's way to remove a default.

use serde_json::{Value, json};

/// The key of a label or annotation.
const KEY: &str =
    "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// The value of a label, which has at most 63 characters.
const LABEL: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";

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
    entries(&json!({ "type": "string", "pattern": LABEL, "maxLength": 63 }))
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
    json!({ "type": "object", "propertyNames": { "pattern": KEY, "maxLength": 317 }, "additionalProperties": value })
}

/// Names of namespaces.
pub fn namespaces() -> Value {
    json!({ "type": "array", "items": namespace() })
}

/// A namespace.
pub fn namespace() -> Value {
    json!({ "type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63 })
}

/// Requests and limits.
pub fn resources() -> Value {
    let quantity = json!({
        "anyOf": [
            { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$" },
            { "type": "number", "minimum": 0 },
        ]
    });
    let name = "^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$";
    let quantities = json!({ "type": "object", "propertyNames": { "pattern": name }, "additionalProperties": quantity });
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": { "limits": quantities, "requests": quantities, "claims": { "type": "array" } },
    })
}

/// Taints that are tolerated.
pub fn tolerations() -> Value {
    let key = json!({ "type": "string", "pattern": KEY });
    let value = json!({ "type": "string", "pattern": LABEL, "maxLength": 63 });
    let effect = json!({ "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"] });
    let seconds = json!({ "type": "integer" });
    let toleration = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "key": key,
            "operator": { "enum": ["Exists", "Equal"] },
            "value": value,
            "effect": effect,
            "tolerationSeconds": seconds,
        },
        // What exists has no value, and what is equal has a key.
        "oneOf": [
            {
                "required": ["operator"],
                "properties": { "operator": { "const": "Exists" } },
                "not": { "required": ["value"] },
            },
            { "required": ["key"], "properties": { "operator": { "const": "Equal" } } },
        ],
        "dependencies": {
            "tolerationSeconds": { "required": ["effect"], "properties": { "effect": { "const": "NoExecute" } } },
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

/// An image without its tag, or with a digest.
pub fn repository() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9]([-A-Za-z0-9._/:@+]*[A-Za-z0-9])?$", "maxLength": 512 })
}

/// A tag or a digest.
pub fn tag() -> Value {
    json!({ "type": "string", "pattern": "^([A-Za-z0-9_][-A-Za-z0-9_.]*|[A-Za-z0-9][-A-Za-z0-9_.+]*:[A-Fa-f0-9]+)?$", "maxLength": 256 })
}

/// When an image is pulled.
pub fn pull_policy() -> Value {
    json!({ "enum": ["Always", "IfNotPresent", "Never", null] })
}
