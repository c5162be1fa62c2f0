//! `anyOf`, `allOf`, `oneOf` and `not` may only restrict what the schema around them describes.

use serde_json::{Value, json};

use crate::lint::Hit;
use crate::node::Node;

/// Keywords that only the schema around a restriction may have.
const FORBIDDEN: [&str; 12] = [
    "additionalProperties",
    "default",
    "description",
    "nullable",
    "title",
    "type",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
];
const UNTAGGED: &str = "variants of an untagged enum can only differ in which fields they have: use a struct with optional fields, an enum without `#[serde(untagged)]`, or `IntOrString`";
const MANUAL: &str =
    "move it to the schema around it, or write a rule: `#[x_kube(validation = …)]`";

/// Checks that restrictions only restrict.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let parts = node.get("allOf").as_array().into_iter().flatten();
    let flattened = parts.filter(|part| is_enum(part)).count();
    if flattened > 1 {
        let text = format!("a struct can flatten one enum, and this one flattens {flattened}");
        let help = "remove `#[serde(flatten)]` from all but one of them, so that they are fields";
        found.push(Hit::new(&node.path, text, help));
    }
    for (name, inner) in restrictions(node.schema) {
        if flattened > 1 && name.starts_with("allOf") && is_enum(inner) {
            continue;
        }
        let integer_or_string = json!([{ "type": "integer" }, { "type": "string" }]);
        let whole = name.starts_with("anyOf") && node.get("anyOf") == &integer_or_string;
        let first = name == "allOf[0]" && inner["anyOf"] == integer_or_string;
        if !whole {
            restriction(node, &name, inner, Some(node.schema), first, found);
        }
    }
}

/// Whether a part of `allOf` is the schema of a Rust enum with data, which schemars has put there by `#[serde(flatten)]`.
fn is_enum(part: &Value) -> bool {
    part["type"] == "object" && (part["oneOf"].is_array() || part["anyOf"].is_array())
}

/// The restrictions of a schema: `anyOf[0]`, `not`.
fn restrictions(schema: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for key in ["anyOf", "allOf", "oneOf"] {
        let list = schema[key].as_array().into_iter().flatten().enumerate();
        all.extend(list.map(|(position, inner)| (format!("{key}[{position}]"), inner)));
    }
    if schema["not"].is_object() {
        all.push(("not".to_owned(), &schema["not"]));
    }
    all
}

/// `around` is the schema that describes the value restricted by `inner`, if there is one.
fn restriction(
    node: &Node,
    at: &str,
    inner: &Value,
    around: Option<&Value>,
    skip_any_of: bool,
    found: &mut Vec<Hit>,
) {
    let help = if at.starts_with("anyOf") {
        UNTAGGED
    } else {
        MANUAL
    };
    for key in FORBIDDEN {
        let value = &inner[key];
        if !value.is_null() && value != &json!(false) && value != &json!("") {
            let text = format!("`{key}` in `{at}` is not structural");
            found.push(Hit::new(&node.path, text, help));
        }
    }
    for key in ["$ref", "patternProperties"] {
        if !inner[key].is_null() {
            let text = format!("`{key}` in `{at}` is not supported");
            found.push(Hit::new(&node.path, text, help));
        }
    }
    if inner["x-kubernetes-validations"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty())
    {
        let text = format!("a rule in `{at}` is not structural");
        found.push(Hit::new(
            &node.path,
            text,
            "put the rule on the type or field that contains the enum, with `has(self.…)`",
        ));
    }
    if inner["uniqueItems"] == json!(true) {
        let text = format!("`uniqueItems` in `{at}` is not supported");
        found.push(Hit::new(&node.path, text, MANUAL));
    }
    for (name, deeper) in restrictions(inner) {
        if !(skip_any_of && name.starts_with("anyOf")) {
            restriction(node, &format!("{at}.{name}"), deeper, around, false, found);
        }
    }
    parts(node, at, inner, around, found);
}

/// Checks the fields and items that `inner` restricts.
fn parts(node: &Node, at: &str, inner: &Value, around: Option<&Value>, found: &mut Vec<Hit>) {
    let part = |at: String, inner: &Value, described: Option<&Value>, found: &mut Vec<Hit>| {
        if described.is_none() {
            let text =
                format!("`{at}` restricts a value that the schema around it does not describe");
            found.push(Hit::new(&node.path, text, MANUAL));
        }
        restriction(node, &at, inner, described, false, found);
    };
    if inner["items"].is_object() {
        let described = around
            .map(|schema| &schema["items"])
            .filter(|items| items.is_object());
        part(format!("{at}.items"), &inner["items"], described, found);
    }
    for (name, inner) in inner["properties"].as_object().into_iter().flatten() {
        let described = around.and_then(|schema| schema["properties"].get(name));
        part(format!("{at}.{name}"), inner, described, found);
        if name == "metadata" {
            let text = format!("`{at}.metadata` restricts `metadata`");
            found.push(Hit::new(&node.path, text, "rename the field"));
        }
    }
    if inner["items"].is_array() {
        let text = format!(
            "`{at}` has a tuple: a CRD cannot describe a list with items of different types"
        );
        found.push(Hit::new(&node.path, text, "use a struct with named fields"));
    }
}

/// Checks that restrictions of the root do not affect the status.
pub fn root(version: &Value, found: &mut Vec<Hit>) {
    const HELP: &str = "move it to `spec`, or write a rule: `#[kube(validation = …)]`";
    const KEYS: [&str; 9] = [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "enum",
        "default",
        "maxProperties",
        "minProperties",
        "x-kubernetes-map-type",
    ];
    if version["subresources"]["status"].is_null() {
        return;
    }
    for key in KEYS {
        let value = &version["schema"]["openAPIV3Schema"][key];
        if !value.is_null() && value != &json!([]) {
            let text =
                format!("`{key}` cannot restrict the object itself, because it has a status");
            found.push(Hit::new("", text, HELP));
        }
    }
}
