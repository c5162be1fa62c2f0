//! A schema as the API server stores it: without fields that are unknown to it, and without those that say nothing.

use serde_json::{Map, Value, json};

/// The fields of a schema in `apiextensions.k8s.io/v1`.
const KNOWN: [&str; 42] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "id",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
];

/// Rules in CEL.
pub const RULES: &str = "x-kubernetes-validations";

/// `schema` as an API server returns it.
pub fn normal(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return schema.clone();
    };
    let known = object
        .iter()
        .filter(|(key, _)| *key == RULES || KNOWN.contains(&key.as_str()));
    let mut normal: Map<String, Value> = known
        .map(|(key, value)| (key.clone(), field(key, value)))
        .filter(|(key, value)| !is_unset(key, value))
        .collect();
    if let Some(Value::Array(required)) = normal.get_mut("required") {
        required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        required.dedup();
    }
    Value::Object(normal)
}

fn field(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("items" | "additionalProperties" | "not" | "additionalItems", _) => normal(value),
        ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
            branches.iter().map(normal).collect()
        }
        ("properties" | "patternProperties" | "definitions", Value::Object(fields)) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), normal(value)))
                    .collect(),
            )
        }
        (RULES, Value::Array(rules)) => rules.iter().map(rule).collect(),
        ("minimum" | "maximum" | "multipleOf", Value::Number(number)) => whole(number),
        _ => value.clone(),
    }
}

/// A rule without the fields whose value is their default.
fn rule(rule: &Value) -> Value {
    let mut rule = rule.clone();
    if let Some(fields) = rule.as_object_mut() {
        fields.retain(|key, value| {
            !(value.is_null()
                || *value == json!("")
                || key == "reason" && *value == json!("FieldValueInvalid"))
        });
    }
    rule
}

/// A whole number without its fraction: the API server does not tell them apart.
fn whole(number: &serde_json::Number) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "checked to be a whole number in range"
        )]
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
            json!(float as i64)
        }
        _ => Value::Number(number.clone()),
    }
}

/// Whether the API server leaves the field out. Data, such as a default, is kept whatever it is.
fn is_unset(key: &str, value: &Value) -> bool {
    match key {
        "default"
        | "example"
        | "items"
        | "additionalProperties"
        | "not"
        | "x-kubernetes-preserve-unknown-fields" => value.is_null(),
        _ => {
            value.is_null()
                || *value == json!(false)
                || *value == json!("")
                || *value == json!([])
                || *value == json!({})
        }
    }
}
