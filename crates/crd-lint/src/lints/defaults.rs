//! Defaults must be valid for the schema, without unknown fields.

use std::cell::OnceCell;

use apiserver_rules::{Problem, Rules, is_embedded, normalise, problems_within, prune};
use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;

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
    let mut pruned = default.clone();
    prune(&mut pruned, node.schema, false);
    if pruned != *default {
        let text = format!("the default `{default}` has unknown fields");
        error(text, "use only fields of the type, by their names in YAML");
    }
    // kubectl, which sends the definition, writes numbers so.
    let mut default = default.clone();
    normalise(&mut default);
    let default = &default;
    let found = problems_within(&node.steps, default, node.schema);
    let rules = Rules::of(node.schema, is_embedded(node.schema));
    let judgement = rules.map(|it| it.judge_default(&node.steps, node.schema, default));
    let shown = OnceCell::new();
    for (problems, other) in [
        (found, "bounds"),
        (judgement.unwrap_or_default().problems, "rule"),
    ] {
        for Problem { path, plain, .. } in problems {
            let shown = shown.get_or_init(|| short(default));
            let part = match path.as_str() {
                "" => "it".to_owned(),
                path => format!("`{path}`"),
            };
            let text = format!("the default `{shown}` is not valid: {part} {plain}");
            let help = format!("change the value of `#[serde(default)]`, or the {other}");
            error(text, &help);
        }
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
