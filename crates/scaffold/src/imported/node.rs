//! What a node of a schema is, before types have names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::keyword::{OPEN, is_int_or_string, is_quantity};
use super::known::{self, Known};

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    Bool,
    I32,
    I64,
    F64,
    Text,
    Quantity,
    IntOrString,
    Any,
    List(&'a Value),
    Map(&'a Value),
    /// A map of anything.
    AnyMap,
    Struct,
    /// An object that is a type of k8s-openapi.
    Known(&'static Known),
    Enum,
}

/// Where a node is used: a field has its own documentation and rules; in a list or a map, only the type can have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Field,
    Item,
}

/// What `schema` is.
pub fn node(schema: &Value) -> Node<'_> {
    if is_int_or_string(schema) {
        return match schema["format"].as_str() {
            _ if is_quantity(schema) => Node::Quantity,
            // The type of k8s-openapi has 32 bits.
            Some("int64") => Node::Any,
            _ => Node::IntOrString,
        };
    }
    match schema["type"].as_str() {
        Some("array") => Node::List(&schema["items"]),
        Some("object") => object(schema),
        Some("boolean") => Node::Bool,
        Some("integer") if schema["format"] == json!("int32") => Node::I32,
        Some("integer") => Node::I64,
        Some("number") => Node::F64,
        Some("string") if is_enum(schema) => Node::Enum,
        Some("string") => Node::Text,
        _ => Node::Any,
    }
}

fn object(schema: &Value) -> Node<'_> {
    match (has_fields(schema), schema.get("additionalProperties")) {
        (true, None) => known::find(schema).map_or(Node::Struct, Node::Known),
        (false, Some(values @ Value::Object(_))) => Node::Map(values),
        (false, _) => Node::AnyMap,
        (true, Some(_)) => Node::Any,
    }
}

fn has_fields(schema: &Value) -> bool {
    schema["properties"]
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
}

/// Whether the values are different strings.
fn is_enum(schema: &Value) -> bool {
    let Some(values) = schema["enum"].as_array() else {
        return false;
    };
    let mut texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    texts.sort_unstable();
    texts.dedup();
    !texts.is_empty() && texts.len() == values.len()
}

/// The keywords that make a struct or an enum the type that it is; the others belong to a use of it.
pub fn core_keywords(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let keys: &[&str] = match node(schema) {
        Node::Enum => &["type", "enum"],
        _ => &["type", "properties", "required", OPEN],
    };
    let keywords = schema.as_object().into_iter().flatten();
    keywords.filter(|(key, _)| keys.contains(&key.as_str()))
}

/// The digest of these keywords.
pub fn core(schema: &Value) -> Key {
    key(core_keywords(schema))
}

/// The fields of `schema` that are not its core.
pub fn rest(schema: &Value) -> Map<String, Value> {
    let core: BTreeSet<&String> = core_keywords(schema).map(|(key, _)| key).collect();
    let others = schema.as_object().into_iter().flatten();
    let others = others.filter(|(key, _)| !core.contains(key));
    others
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The digest of a part of a schema: equal parts have equal ones.
pub type Key = [u8; 32];

/// The digest of these keywords.
pub fn key<'a>(keywords: impl Iterator<Item = (&'a String, &'a Value)>) -> Key {
    let keywords: BTreeMap<&String, &Value> = keywords.collect();
    // A map of JSON can always be written.
    Sha256::digest(serde_json::to_vec(&keywords).unwrap_or_default()).into()
}
