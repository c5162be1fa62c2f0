//! Schemas that are not structural: no type, or keywords that a CRD cannot have.

use serde_json::{Value, json};

use crate::lint::Hit;
use crate::node::{Level, Node};

use super::keywords::{ANYTHING, EMBEDDED, INT_OR_STRING, PRESERVE};

/// Keywords that a CRD cannot have anywhere, and what to write instead.
const UNSUPPORTED: [(&str, &str, &str); 7] = [
    (
        "$ref",
        "a type that contains itself has no end, and a CRD has to write it out",
        "break the circle: give the inner field `#[schemars(schema_with = \"…\")]` with a schema of `type: object` and `x-kubernetes-preserve-unknown-fields: true`, or names of other entries instead of the entries themselves",
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
    ("id", "`id` is not supported", "leave it out"),
    ("$schema", "`$schema` is not supported", "leave it out"),
];

/// Keywords that a CRD cannot have.
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

/// Whether values have one type, and lists one of their items.
pub fn types(node: &Node, found: &mut Vec<Hit>) {
    let mut error = |text: &str, help: &str| found.push(Hit::new(&node.path, text, help));
    let kind = node.text("type");
    if node.get("items").is_array() {
        error(
            "a tuple is a list whose items have different types",
            "use a struct with named fields",
        );
    } else if kind == "array" && node.get("items").is_null() {
        error(
            "the items of this list have no schema",
            "add `\"items\"` to what `schema_with` gives",
        );
    }
    match kind {
        "" => found.extend(untyped(node)),
        "string" | "number" | "integer" | "boolean" | "array" | "object" => {}
        "null" => error(
            "a value that is always null has no schema",
            "leave the field out, or use `bool`",
        ),
        other => error(
            &format!("`{other}` is not a type that a CRD can have"),
            "use `string`, `number`, `integer`, `boolean`, `array` or `object`",
        ),
    }
}

/// Why there is no type, as far as what derives write shows it.
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
            "an untagged enum of values of different types has no type",
            "use a struct with an optional field for each variant, `k8s_openapi::apimachinery::pkg::util::intstr::IntOrString` for a number or a string, or an enum with `#[serde(rename_all = \"camelCase\")]` and without `untagged`",
        );
    }
    if node.get("enum") == &json!([null]) {
        return error(
            "`()` is always null, which has no schema",
            "leave the field out, or use `bool`",
        );
    }
    error(
        "any value has no type",
        &format!("use a type of its own, or, for whatever users write, {ANYTHING}"),
    )
}

/// `additionalProperties` beside `properties`, at the root, or without a schema.
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
            "put the map into a field of `spec`",
        );
    } else if fields && values != &json!(true) {
        error(
            "these are fields beside a map (`#[serde(flatten)]`), and a CRD has one or the other",
            "give the map a name of its own, or make it `BTreeMap<String, serde_json::Value>`, which lets any other field in",
        );
    } else if values == &json!(true) && !fields {
        error(
            "values of this map that are objects lose their fields: the schema does not describe them",
            "add `#[schemars(schema_with = \"…\")]` with a function that gives `schemars::json_schema!({ \"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true })`, or a type of its own for the values",
        );
    }
}
