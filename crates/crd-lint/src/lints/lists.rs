//! Merge strategies of lists and maps for server-side apply.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::lint::Hit;
use crate::node::Node;
use apiserver_rules::nearest;

/// Keyword, the type of value that it applies to, the name of that type in Rust, and the valid values.
const STRATEGIES: [(&str, &str, &str, &[&str]); 2] = [
    (
        "x-kubernetes-list-type",
        "array",
        "list",
        &["atomic", "set", "map"],
    ),
    (
        "x-kubernetes-map-type",
        "object",
        "map or struct",
        &["atomic", "granular"],
    ),
];

/// Checks that merge strategies are on lists and maps.
pub fn strategies(node: &Node, found: &mut Vec<Hit>) {
    for (key, kind, what, _) in STRATEGIES {
        if node.get(key).is_string() && node.text("type") != kind {
            let text = format!("a merge strategy for a {what} is set on another type");
            let help = "use `ListMerge` for a `Vec`, `MapMerge` for a map or struct, and none for anything else";
            found.push(Hit::new(&node.path, text, help));
        }
    }
}

/// Checks that the API server knows the merge strategies.
pub fn known_strategies(node: &Node, found: &mut Vec<Hit>) {
    for (key, _, _, values) in STRATEGIES {
        let value = node.get(key).as_str();
        if let Some(value) = value.filter(|value| !values.contains(value)) {
            let text = format!("`{value}` is not a `{key}`");
            let help = format!("use one of `{}`", values.join("`, `"));
            found.push(Hit::new(&node.path, text, help));
        }
    }
}

/// Checks that the items of sets and of lists with keys can be distinguished.
pub fn keys(node: &Node, found: &mut Vec<Hit>) {
    match node.text("x-kubernetes-list-type") {
        "set" => set(node, found),
        "map" => keyed(node, found),
        _ if node
            .get("x-kubernetes-list-map-keys")
            .as_array()
            .is_some_and(|keys| !keys.is_empty()) =>
        {
            let text = "a list with keys must be merged by them";
            found.push(Hit::new(
                &node.path,
                text,
                "use `#[x_kube(merge_strategy = ListMerge::Map(vec![…]))]`",
            ));
        }
        _ => {}
    }
}

/// What to use instead of a set of objects or lists.
const INSTEAD_OF_SET: &str = "use `ListMerge::Map(vec![\"<key>\".into()])`, or `ListMerge::Atomic`";

fn set(node: &Node, found: &mut Vec<Hit>) {
    let items = node.get("items");
    nullable_items(node, items, found);
    if is_merged(items) {
        let text =
            "items of a set are compared as a whole, but these items are merged field by field";
        found.push(Hit::new(&node.path, text, INSTEAD_OF_SET));
    }
}

/// Whether objects or lists are merged, instead of replaced as a whole.
fn is_merged(schema: &Value) -> bool {
    let list = &schema["x-kubernetes-list-type"];
    match schema["type"].as_str() {
        Some("object") => schema["x-kubernetes-map-type"] != json!("atomic"),
        Some("array") => !list.is_null() && list != &json!("atomic"),
        _ => false,
    }
}

/// Reports sets whose items are replaced as a whole, but are not scalars: kube-apiserver accepts them, with a warning since 1.37.
pub fn set_items(node: &Node, found: &mut Vec<Hit>) {
    let items = node.get("items");
    let is_scalar = !["array", "object"].contains(&items["type"].as_str().unwrap_or_default());
    if node.text("x-kubernetes-list-type") == "set" && !is_scalar && !is_merged(items) {
        let text = "server-side apply and rules support only sets of scalars";
        found.push(Hit::new(&node.path, text, INSTEAD_OF_SET));
    }
}

fn nullable_items(node: &Node, items: &Value, found: &mut Vec<Hit>) {
    if items["nullable"] == json!(true) {
        let text = "items of a set or of a list with keys cannot be null";
        found.push(Hit::new(
            &node.path,
            text,
            "use `Vec<T>`, not `Vec<Option<T>>`",
        ));
    }
}

fn keyed(node: &Node, found: &mut Vec<Hit>) {
    let items = node.get("items");
    nullable_items(node, items, found);
    let keys: Vec<&str> = node
        .get("x-kubernetes-list-map-keys")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if keys.is_empty() {
        let text = "this list is merged by keys, but has none";
        found.push(Hit::new(
            &node.path,
            text,
            "add them: `ListMerge::Map(vec![\"<key>\".into()])`",
        ));
    }
    if items["type"] != json!("object") {
        let text = "only items that are structs can be merged by a key";
        found.push(Hit::new(
            &node.path,
            text,
            "use `ListMerge::Set`, or `ListMerge::Atomic`",
        ));
        return;
    }
    let required = items["required"].as_array().into_iter().flatten();
    let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            let text = format!("duplicate key `{key}`");
            found.push(Hit::new(&node.path, text, "list each key once"));
        }
        check_key(node, items, key, required.contains(key), found);
    }
}

/// A key must be a scalar that is always present: required or with a default, and never null.
fn check_key(node: &Node, items: &Value, key: &str, is_required: bool, found: &mut Vec<Hit>) {
    let mut error = |text: String, help: String| found.push(Hit::new(&node.path, text, help));
    let Some(field) = items["properties"].get(key) else {
        let names = items["properties"].as_object().into_iter().flatten();
        let near = nearest(key, names.map(|(name, _)| name.as_str()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`"),
            None => "use the name of an item's field in YAML".to_owned(),
        };
        return error(format!("the items have no field `{key}` to merge by"), help);
    };
    if ["array", "object"].contains(&field["type"].as_str().unwrap_or_default()) {
        error(
            format!("the key `{key}` is not a scalar"),
            "use a field that is a string, a number or a bool".to_owned(),
        );
    }
    if !is_required && field["default"].is_null() {
        error(
            format!("the key `{key}` is neither required nor has a default"),
            format!(
                "make `{key}` a plain field, not an `Option` and without `#[serde(default)]`, or give it a default: `#[serde(default = \"…\")]`"
            ),
        );
    }
    if field["nullable"] == json!(true) {
        error(
            format!("the key `{key}` can be null"),
            format!("make `{key}` a plain field, not an `Option`"),
        );
    }
}

/// Checks that conditions are merged by type, so that writers of a status do not overwrite each other's conditions.
pub fn conditions(node: &Node, found: &mut Vec<Hit>) {
    let keys = node.get("x-kubernetes-list-map-keys");
    if node.path == ".status.conditions"
        && node.text("type") == "array"
        && (node.text("x-kubernetes-list-type") != "map" || keys != &json!(["type"]))
    {
        let text = "this list of conditions has no key, so writers of the status overwrite each other's conditions";
        let help = "add `#[x_kube(merge_strategy = ListMerge::Map(vec![\"type\".into()]))]`, and `kube::KubeSchema` instead of `schemars::JsonSchema` to the status";
        found.push(Hit::new(&node.path, text, help));
    }
}
