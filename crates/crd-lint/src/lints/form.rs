//! Schemas must be structural: with a type, and without unsupported keywords.

use serde_json::{Value, json};

use crate::lint::Hit;
use crate::node::{Level, Node};

use super::keywords::{ANYTHING, EMBEDDED, INT_OR_STRING, PRESERVE};

/// Keywords that are not supported anywhere in a CRD, and what to write instead.
const UNSUPPORTED: [(&str, &str, &str); 7] = [
    (
        "$ref",
        "a recursive type has an infinite schema, which a CRD cannot contain",
        "break the cycle: give the inner field `#[schemars(schema_with = \"…\")]` with a schema of `type: object` and `x-kubernetes-preserve-unknown-fields: true`, or let entries refer to others by name",
    ),
    (
        "patternProperties",
        "the keys of a map can only be strings",
        "use `BTreeMap<String, …>`",
    ),
    (
        "definitions",
        "`definitions` are not supported",
        "write each type where it is used",
    ),
    (
        "dependencies",
        "`dependencies` are not supported",
        "write a rule instead: `#[x_kube(validation = …)]`",
    ),
    (
        "additionalItems",
        "`additionalItems` is not supported",
        "use a struct instead of a tuple",
    ),
    ("id", "`id` is not supported", "remove it"),
    ("$schema", "`$schema` is not supported", "remove it"),
];

/// Checks that a schema has no unsupported keywords.
pub fn keywords(node: &Node, found: &mut Vec<Hit>) {
    let mut error = |text: &str, help: &str| found.push(Hit::new(&node.path, text, help));
    for (key, text, help) in UNSUPPORTED {
        if !matches!(node.get(key), Value::Null) && node.get(key) != &json!({}) {
            error(text, help);
        }
    }
    if node.is("uniqueItems") {
        error(
            "`uniqueItems` is not supported",
            "use `#[x_kube(merge_strategy = ListMerge::Set)]`",
        );
    }
}

/// Checks that values have a single type, and lists a schema for their items.
pub fn types(node: &Node, found: &mut Vec<Hit>) {
    let mut error = |text: &str, help: &str| found.push(Hit::new(&node.path, text, help));
    let kind = node.text("type");
    if node.get("items").is_array() {
        error(
            "a tuple is a list with items of different types, which a CRD cannot describe",
            "use a struct with named fields",
        );
    } else if kind == "array" && node.get("items").is_null() {
        error(
            "the items of this list have no schema",
            "add `\"items\"` to the schema from `schema_with`",
        );
    }
    match kind {
        "" => found.extend(untyped(node)),
        "string" | "number" | "integer" | "boolean" | "array" | "object" => {}
        "null" => error(
            "a value that is always null has no schema",
            "remove the field, or use `bool`",
        ),
        other => error(
            &format!("`{other}` is not a type that a CRD can have"),
            "use `string`, `number`, `integer`, `boolean`, `array` or `object`",
        ),
    }
}

/// Why no type was found, as far as the output of the derive macros shows it.
fn untyped(node: &Node) -> Option<Hit> {
    if node.is(INT_OR_STRING) || node.is(PRESERVE) || node.is(EMBEDDED) {
        return None;
    }
    let error = |text: &str, help: &str| Some(Hit::new(&node.path, text, help));
    if node.get("$ref").is_string() {
        return None;
    }
    if node.get("anyOf").is_array() || node.get("oneOf").is_array() {
        return error(
            "an untagged enum of values of different types has no single type",
            "use a struct with an optional field for each variant, `k8s_openapi::apimachinery::pkg::util::intstr::IntOrString` for a number or a string, or an enum with `#[serde(rename_all = \"camelCase\")]` and without `untagged`",
        );
    }
    if node.get("enum") == &json!([null]) {
        return error(
            "`()` is always null, which has no schema",
            "remove the field, or use `bool`",
        );
    }
    error(
        "a value of any type has no schema",
        &format!("use a specific type; or, {ANYTHING}"),
    )
}

/// Checks that `additionalProperties` has a schema, is not combined with `properties`, and is not at the root.
pub fn maps(node: &Node, found: &mut Vec<Hit>) {
    let values = node.get("additionalProperties");
    if values.is_null() {
        return;
    }
    let fields = node
        .get("properties")
        .as_object()
        .is_some_and(|fields| !fields.is_empty());
    let mut error = |text: &str, help: &str| found.push(Hit::new(&node.path, text, help));
    if node.level == Level::Root {
        error(
            "the object itself cannot be a map",
            "move the map to a field of `spec`",
        );
    } else if fields && values != &json!(true) {
        error(
            "an object in a CRD cannot have both fields and a flattened map (`#[serde(flatten)]`)",
            "make the map a separate field, or use `BTreeMap<String, serde_json::Value>`, which accepts any other field",
        );
    } else if values == &json!(true) && !fields {
        error(
            "objects in this map lose their fields, because the schema does not describe them",
            "add `#[schemars(schema_with = \"…\")]` with a function that returns `schemars::json_schema!({ \"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true })`, or use a specific type for the values",
        );
    }
}
