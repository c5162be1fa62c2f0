//! Keeps kube from rewriting what it takes for the output of its macros.
//!
//! kube rewrites each schema whose `oneOf` or `anyOf` could come from an enum of Rust, and fields beside `additionalProperties`,
//! unless it cannot read the schema.
//! A key that no CRD has, with a value that is not a schema, stops it: CRDs leave the key out.

use serde_json::{Map, Value, json};

/// The key that stops the rewriting.
pub const STOP: &str = "contains";

/// kube lets optional fields of this type be `null`, unless they have this key.
pub const NOT_NULLABLE: &str = "nullable";

/// Shields a schema if kube would rewrite it.
pub fn shield(schema: &mut Map<String, Value>) {
    let is_rewritten = |key: &str| {
        let branches = schema.get(key).and_then(Value::as_array);
        branches.is_some_and(|branches| !branches.iter().all(is_harmless))
    };
    let has_map = schema
        .get("additionalProperties")
        .is_some_and(Value::is_boolean);
    let is_flattened = has_map && schema.contains_key("properties");
    if is_rewritten("anyOf") || is_rewritten("oneOf") || is_flattened {
        schema.insert(STOP.to_owned(), json!(0));
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf")
        && let [Value::Object(first), Value::Object(second)] = &mut branches[..]
        && second.get("enum") == Some(&json!([null]))
    {
        first.entry(NOT_NULLABLE).or_insert(Value::Null);
    }
}

/// Whether kube leaves a branch as it is.
fn is_harmless(branch: &Value) -> bool {
    const MOVED: [&str; 6] = [
        "type",
        "properties",
        "additionalProperties",
        "enum",
        "description",
        "default",
    ];
    branch
        .as_object()
        .is_some_and(|branch| !MOVED.iter().any(|key| branch.contains_key(*key)))
}

/// The value of a field of a schema, with all schemas in it shielded.
pub fn shielded(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("items" | "additionalProperties" | "not", Value::Object(_)) => node(value),
        ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
            branches.iter().map(node).collect()
        }
        ("properties", Value::Object(fields)) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), property(value)))
                .collect(),
        ),
        _ => value.clone(),
    }
}

fn node(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut schema: Map<String, Value> = fields
        .iter()
        .map(|(key, value)| (key.clone(), shielded(key, value)))
        .collect();
    shield(&mut schema);
    Value::Object(schema)
}

/// A field of an object, which may be absent but not `null`.
fn property(schema: &Value) -> Value {
    let mut schema = node(schema);
    if let Some(fields) = schema.as_object_mut()
        && fields.contains_key("x-kubernetes-int-or-string")
    {
        fields.entry(NOT_NULLABLE).or_insert(Value::Null);
    }
    schema
}
