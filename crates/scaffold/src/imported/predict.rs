//! What schemars and kube make of a type, and the overlay: what a schema has instead. Both together are the schema.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::keyword::QUANTITY;
use super::model::{Body, Model, Schema, Ty};
use super::shield;

/// Stands for a description of k8s-openapi's, which no CRD has.
const FOREIGN: &str = "\u{0}";

/// The schema of a field of type `ty`: as the macros generate it, or a function of the file.
pub fn predict<'a>(ty: &Ty, model: &Model<'a>) -> Schema<'a> {
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let number = json!({ "anyOf": either, "x-kubernetes-int-or-string": true });
    let mut quantity = number.clone();
    quantity["pattern"] = json!(QUANTITY);
    let schema = match ty {
        Ty::Quantity => quantity,
        Ty::IntOrString => number,
        Ty::Map(values) if **values == Ty::Quantity => {
            json!({ "type": "object", "additionalProperties": quantity })
        }
        Ty::Own(at) => return model.types[*at].schema.clone(),
        _ => derived(ty, model),
    };
    let Value::Object(schema) = schema else {
        return Schema::new();
    };
    let keywords = schema.into_iter();
    keywords
        .map(|(key, value)| (Cow::Owned(key), Cow::Owned(value)))
        .collect()
}

/// The schema of `ty` as the macros generate it.
fn derived(ty: &Ty, model: &Model) -> Value {
    match ty {
        Ty::Bool => json!({ "type": "boolean" }),
        Ty::I32 => json!({ "type": "integer", "format": "int32" }),
        Ty::I64 => json!({ "type": "integer", "format": "int64" }),
        Ty::F64 => json!({ "type": "number", "format": "double" }),
        Ty::Text => json!({ "type": "string" }),
        Ty::Quantity | Ty::IntOrString => {
            json!({ "description": FOREIGN, "x-kubernetes-int-or-string": true })
        }
        // Known types are in functions.
        Ty::Any | Ty::Known(_) => json!({}),
        Ty::List(items) => json!({ "type": "array", "items": derived(items, model) }),
        Ty::Map(values) if **values == Ty::Any => {
            json!({ "type": "object", "additionalProperties": true })
        }
        Ty::Map(values) => {
            json!({ "type": "object", "additionalProperties": derived(values, model) })
        }
        Ty::Own(at) => {
            let keywords = model.types[*at].schema.iter();
            keywords
                .map(|(key, value)| (key.to_string(), value.clone().into_owned()))
                .collect()
        }
    }
}

/// The schema of a struct or enum without an overlay. Its fields are right, as each has an overlay of its own.
pub fn container<'a>(body: &Body, wanted: &Schema<'a>) -> Schema<'a> {
    let mut schema = Schema::new();
    let mut insert = |key: &'static str, value| schema.insert(Cow::Borrowed(key), value);
    match body {
        Body::Enum(variants) => {
            insert("type", Cow::Owned(json!("string")));
            let values = variants.iter().map(|(_, value)| value.clone());
            insert("enum", Cow::Owned(values.collect()));
        }
        Body::Struct { fields, .. } => {
            insert("type", Cow::Owned(json!("object")));
            if let Some(properties) = wanted.get("properties").filter(|_| !fields.is_empty()) {
                insert("properties", properties.clone());
            }
            let required = fields.iter().filter(|field| field.required);
            let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
            if !required.is_empty() {
                insert("required", Cow::Owned(json!(required)));
            }
        }
    }
    schema
}

/// What to add to `predicted`, apart from the documentation, so that it becomes `wanted`: `null` removes a field.
pub fn overlay(wanted: &Schema, predicted: &Schema) -> Map<String, Value> {
    let mut overlay = Map::new();
    for (key, value) in wanted {
        if key != "description" && predicted.get(key) != Some(value) {
            overlay.insert(key.to_string(), shield::shielded(key, value));
        }
    }
    for key in predicted.keys().filter(|key| !wanted.contains_key(*key)) {
        overlay.insert(key.to_string(), Value::Null);
    }
    let rewritten = ["additionalProperties", "anyOf", "oneOf"];
    if rewritten.into_iter().any(|key| overlay.contains_key(key)) {
        shield::shield(&mut overlay);
    }
    overlay
}
