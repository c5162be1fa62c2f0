//! Defaults, which must be values that the schema allows, whole.

use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;
use crate::rules::{Old, broken};
use crate::value;

/// Whether a default is allowed where it is, loses nothing, and is valid.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let default = node.get("default");
    // The API server drops a default that is null.
    if default.is_null() {
        return;
    }
    let mut error = |text: String, help: &str| found.push(Hit::new(&node.path, text, help));
    if node.root_meta {
        return error(
            "`metadata`, `kind` and `apiVersion` have no defaults".to_owned(),
            "leave it out",
        );
    }
    if node.meta {
        return;
    }
    if value::pruned(node.schema, default) != *default {
        let text = format!("the default `{default}` has fields that the schema does not have");
        error(
            text,
            "give exactly the fields of the type, as they are in YAML",
        );
    }
    for fault in value::violations(node.schema, default, "") {
        let part = if fault.path.is_empty() {
            String::new()
        } else {
            format!("`{}` ", fault.path)
        };
        let text = format!(
            "the default `{}` is not valid: {part}{}",
            short(default),
            fault.reason
        );
        error(text, "change what `#[serde(default)]` gives, or the bounds");
    }
    for broken in broken(node.schema, default, Old::Same) {
        let part = match broken.path.as_str() {
            "" => String::new(),
            path => format!(" in `{path}`"),
        };
        let why = broken.why.map(|why| format!(": {why}")).unwrap_or_default();
        let text = format!(
            "the default `{}` does not keep the rule `{}`{part}{why}",
            short(default),
            broken.rule
        );
        error(text, "change what `#[serde(default)]` gives, or the rule");
    }
}

fn short(value: &Value) -> String {
    const LENGTH: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
