//! Defaults must be valid for the schema, without unknown fields.

use std::cell::OnceCell;

use apiserver_rules::{Problem, Rules, is_embedded, normalise, problems_within, prune};
use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;

/// How Rust leaves out a `None`.
const SKIPPED: &str = "leave it out instead of `null`: `#[serde(default, skip_serializing_if = \"Option::is_none\")]` on that field";

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
            if at(default, &path).is_some_and(Value::is_null) {
                error(text, SKIPPED);
            } else {
                let help = format!("change the value of `#[serde(default)]`, or the {other}");
                error(text, &help);
            }
        }
    }
}

/// The value at a path such as `.a[0].b`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = value;
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        value = match step.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?)?,
            None => value.get(step)?,
        };
    }
    Some(value)
}

fn short(value: &Value) -> String {
    const LENGTH: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::walk;

    fn found(schema: &Value) -> Vec<String> {
        let mut found = Vec::new();
        walk(schema, &mut |node| check(node, &mut found));
        let shown = |hit: Hit| format!("{}; {}", hit.message, hit.help);
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn a_null_in_a_default_is_reported_with_the_attribute_that_leaves_it_out() {
        let mode = json!({ "type": "string", "enum": ["Fast", "Slow", null], "nullable": true });
        let fields = json!({ "type": "object", "properties": { "mode": mode, "size": { "type": "integer" } } });
        let list = json!({ "type": "array", "items": fields, "default": [{}, { "mode": null }] });
        let expected = |text: &str, path: &str| {
            [format!(
                "the default `{text}` is not valid: `{path}` is not one of `Fast`, `Slow`; {SKIPPED}"
            )]
        };
        assert_eq!(found(&list), expected(r#"[{},{"mode":null}]"#, ".[1].mode"));
        let mut object = fields.clone();
        object["default"] = json!({ "mode": null });
        assert_eq!(found(&object), expected(r#"{"mode":null}"#, ".mode"));
        object["default"] = json!({ "size": null });
        assert!(found(&object).concat().ends_with(SKIPPED));
        object["default"] = json!({});
        assert_eq!(found(&object), [""; 0]);
    }
}
