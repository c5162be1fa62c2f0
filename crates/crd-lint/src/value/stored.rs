//! The API server's changes to a value before it is stored.

use serde_json::{Map, Value, json};

use crate::node::is_embedded;

/// The value without unknown fields, which the API server drops.
#[must_use]
pub fn pruned(schema: &Value, value: &Value) -> Value {
    let keep = schema["x-kubernetes-preserve-unknown-fields"] == json!(true);
    match value {
        Value::Object(fields) => {
            let embedded = is_embedded(schema);
            let part = |(name, value): (&String, &Value)| {
                if embedded && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                    return Some((name.clone(), value.clone()));
                }
                let values = &schema["additionalProperties"];
                let kept = match schema["properties"].get(name) {
                    Some(field) => pruned(field, value),
                    None if values.is_object() || values == &json!(true) => pruned(values, value),
                    None if keep => value.clone(),
                    None => return None,
                };
                Some((name.clone(), kept))
            };
            fields.iter().filter_map(part).collect::<Map<_, _>>().into()
        }
        Value::Array(items) if keep && schema["items"].is_null() => Value::Array(items.clone()),
        Value::Array(items) => items
            .iter()
            .map(|item| pruned(&schema["items"], item))
            .collect(),
        scalar => scalar.clone(),
    }
}

/// The value after the API server's defaulting.
#[must_use]
pub fn defaulted(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let default = &field["default"];
                let null = fields
                    .get(name)
                    .is_some_and(|value| value.is_null() && field["nullable"] != json!(true));
                if !default.is_null() && (null || !fields.contains_key(name)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            let below = |(name, value): (String, Value)| {
                let field = match &schema["properties"][&name] {
                    Value::Null => &schema["additionalProperties"],
                    field => field,
                };
                let value = defaulted(field, &value);
                (name, value)
            };
            Value::Object(fields.into_iter().map(below).collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| defaulted(&schema["items"], item))
            .collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_pruned_like_in_the_api_server() {
        let schema = json!({ "properties": {
            "a": { "properties": { "b": {} } },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
            "map": { "additionalProperties": true },
        } });
        let value = json!({ "a": { "b": 1, "c": 1 }, "any": { "d": { "e": 1 } }, "map": { "f": 1, "g": { "h": 1 } }, "i": 1 });
        let kept =
            json!({ "a": { "b": 1 }, "any": { "d": { "e": 1 } }, "map": { "f": 1, "g": {} } });
        assert_eq!(pruned(&schema, &value), kept);
    }
}
