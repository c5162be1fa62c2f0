//! Defaults must be valid for the schema, without unknown fields.

use std::cell::OnceCell;

use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;
use crate::rules::broken_within;
use crate::value;

/// Checks that a default is allowed at its path, has no unknown fields, and is valid.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let default = node.get("default");
    // The API server drops null defaults.
    if default.is_null() {
        return;
    }
    let mut error = |text: String, help: &str| found.push(Hit::new(&node.path, text, help));
    if node.root_meta {
        return error(
            "`metadata`, `kind` and `apiVersion` cannot have defaults".to_owned(),
            "remove it",
        );
    }
    if node.meta {
        return;
    }
    if value::pruned(node.schema, default) != *default {
        let text = format!("the default `{default}` has unknown fields");
        error(text, "use only fields of the type, by their names in YAML");
    }
    let once = OnceCell::new();
    let shown = || once.get_or_init(|| short(default));
    for fault in value::violations_within(&node.steps, node.schema, default) {
        let part = if fault.path.is_empty() {
            "it ".to_owned()
        } else {
            format!("`{}` ", fault.path)
        };
        let text = format!(
            "the default `{}` is not valid: {part}{}",
            shown(),
            fault.reason
        );
        error(
            text,
            "change the value of `#[serde(default)]`, or the bounds",
        );
    }
    for broken in broken_within(&node.steps, node.schema, default) {
        let part = match broken.path.as_str() {
            "" => String::new(),
            path => format!(" in `{path}`"),
        };
        let why = broken.why.map(|why| format!(": {why}")).unwrap_or_default();
        let text = format!(
            "the default `{}` violates the rule `{}`{part}{why}",
            shown(),
            broken.rule
        );
        error(text, "change the value of `#[serde(default)]`, or the rule");
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
