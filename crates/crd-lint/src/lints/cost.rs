//! Estimates the maximum cost of a rule, roughly like the API server, which rejects rules above a limit.

mod estimate;

use cel::IdedExpr;
use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;

/// The API server's limit for one rule.
const LIMIT: u64 = 10_000_000;

/// A warning if the estimated cost of a rule exceeds the API server's limit, with the bound to add.
pub fn check(node: &Node, rule: &str, expression: &IdedExpr) -> Option<Hit> {
    let once = estimate::once(node.schema, expression);
    let times = node
        .occurrences
        .unwrap_or_else(|| estimate::most(node.schema));
    let all = once.saturating_mul(times);
    let times = match all / LIMIT {
        0 | 1 => "more than".to_owned(),
        few @ 2..=100 => format!("{few} times"),
        _ => "more than 100 times".to_owned(),
    };
    let text = format!("rule `{rule}` may cost {times} what the API server allows");
    let unbounded = unbounded(node.schema);
    let here = if unbounded.is_empty() {
        "the lists and maps around it".to_owned()
    } else {
        unbounded.join(", ")
    };
    let help = format!(
        "bound {here}: `#[schemars(length(max = …))]` for a string or list, `#[schemars(extend(\"maxProperties\" = …))]` for a map"
    );
    (all > LIMIT).then(|| Hit::new(&node.path, text, help))
}

/// The unbounded values, as paths relative to the rule.
fn unbounded(schema: &Value) -> Vec<String> {
    fn walk(path: &str, schema: &Value, found: &mut Vec<String>) {
        let key = match schema["type"].as_str() {
            Some("array") => "maxItems",
            Some("object") if schema["additionalProperties"].is_object() => "maxProperties",
            Some("string") if schema["enum"].is_null() && schema["format"].is_null() => "maxLength",
            _ => "",
        };
        if !key.is_empty() && schema[key].is_null() && found.len() < 4 {
            found.push(format!("`self{path}`"));
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), field, found);
        }
        for (key, sign) in [("items", "[]"), ("additionalProperties", "[*]")] {
            if schema[key].is_object() {
                walk(&format!("{path}{sign}"), &schema[key], found);
            }
        }
    }
    let mut found = Vec::new();
    walk("", schema, &mut found);
    found
}
