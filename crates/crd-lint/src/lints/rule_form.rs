//! The API server's requirements for a rule, other than its expression.

use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;

/// Checks the other fields of rules: expression not empty, message, field path.
pub fn form(node: &Node, found: &mut Vec<Hit>) {
    for rule in node.rules() {
        form_of(node, rule, found);
    }
}

fn form_of(node: &Node, rule: &Value, found: &mut Vec<Hit>) {
    let text = |key: &str| rule[key].as_str();
    let blank =
        |key: &str| text(key).is_some_and(|value| value.trim().is_empty() && !value.is_empty());
    let lines = |key: &str| text(key).is_some_and(|value| value.trim().contains(['\n', '\r']));
    let mut error = |text: String, help: &str| found.push(Hit::new(&node.path, text, help));
    let shown = text("rule").unwrap_or_default();
    if shown.trim().is_empty() {
        error("a rule is empty".to_owned(), "write a condition on `self`");
    }
    for key in ["message", "messageExpression", "fieldPath"] {
        if blank(key) {
            error(
                format!("rule `{shown}`: `{key}` is blank"),
                "remove it, or write one",
            );
        }
    }
    if lines("message") || lines("fieldPath") {
        error(
            format!("rule `{shown}`: the message or field path has more than one line"),
            "write it on one line",
        );
    }
    if lines("rule") && text("message").is_none_or(str::is_empty) {
        error(
            "a rule with several lines has no message".to_owned(),
            "add one: `Rule::new(…).message(\"…\")`",
        );
    }
    if let Some(path) =
        text("fieldPath").filter(|path| !path.trim().is_empty() && !leads(node.schema, path))
    {
        error(
            format!("rule `{shown}`: unknown field path `{path}`"),
            "write a path relative to the rule, such as `.spec.name`",
        );
    }
}

/// Checks that the API server knows the reasons of rules.
pub fn reason(node: &Node, found: &mut Vec<Hit>) {
    const REASONS: [&str; 4] = [
        "FieldValueRequired",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueDuplicate",
    ];
    for rule in node.rules() {
        let text = |key: &str| rule[key].as_str();
        if let Some(reason) = text("reason").filter(|reason| !REASONS.contains(reason)) {
            let shown = text("rule").unwrap_or_default();
            let text = format!("rule `{shown}`: `{reason}` is not a reason");
            found.push(Hit::new(&node.path, text, "use one of kube's `Reason`"));
        }
    }
}

/// Whether a path such as `.a.b['c']` leads to a field or a value of a map.
fn leads(schema: &Value, path: &str) -> bool {
    let (mut schema, mut rest) = (schema, path);
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let Some((inside, more)) = after.split_once("']") else {
                return false;
            };
            (name, rest) = (inside, more);
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (name, rest) = after.split_at(end);
        } else {
            return false;
        }
        let next = match schema["properties"].as_object() {
            Some(fields) => fields.get(name),
            None => Some(&schema["additionalProperties"]).filter(|values| values.is_object()),
        };
        match next {
            Some(next) => schema = next,
            None => return false,
        }
    }
    true
}
