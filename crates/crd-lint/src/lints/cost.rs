//! Estimates the maximum cost of a rule, roughly like the API server, which rejects rules above a limit.

mod estimate;

use std::cell::OnceCell;

use cel::IdedExpr;
use serde_json::Value;

use crate::lint::Hit;
use crate::node::Node;
use estimate::Sizes;

/// The API server's limit for one rule.
const LIMIT: u64 = 10_000_000;

/// The costs of the rules of a schema. What they have in common is computed once.
pub struct Costs<'a> {
    node: &'a Node<'a>,
    sizes: Sizes<'a>,
    unbounded: OnceCell<String>,
}

impl<'a> Costs<'a> {
    /// Of no rule yet.
    pub fn new(node: &'a Node<'a>) -> Self {
        Self {
            node,
            sizes: Sizes::default(),
            unbounded: OnceCell::new(),
        }
    }

    /// A warning if the estimated cost of a rule exceeds the API server's limit, with the bound to add.
    pub fn check(&self, rule: &str, expression: &IdedExpr) -> Option<Hit> {
        let node = self.node;
        let once = self.sizes.once(node.schema, expression);
        let times = node
            .occurrences
            .unwrap_or_else(|| self.sizes.most(node.schema));
        let all = once.saturating_mul(times);
        if all <= LIMIT {
            return None;
        }
        let times = match all / LIMIT {
            0 | 1 => "more than".to_owned(),
            few @ 2..=100 => format!("{few} times"),
            _ => "more than 100 times".to_owned(),
        };
        let text = format!("rule `{rule}` may cost {times} what the API server allows");
        let here = self
            .unbounded
            .get_or_init(|| match &unbounded(node.schema)[..] {
                [] => "the lists and maps around it".to_owned(),
                some => some.join(", "),
            });
        let help = format!(
            "bound {here}: `#[schemars(length(max = …))]` for a string or list, `#[schemars(extend(\"maxProperties\" = …))]` for a map"
        );
        Some(Hit::new(&node.path, text, help))
    }
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
        if found.len() == 4 {
            return;
        }
        if !key.is_empty() && schema[key].is_null() {
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
