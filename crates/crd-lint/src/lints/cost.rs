//! What a rule may cost at most: roughly as the API server estimates it, which rejects rules above a limit.

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};
use serde_json::{Value, json};

use crate::lint::Hit;
use crate::node::Node;

/// The API server's limit for one rule.
const LIMIT: u64 = 10_000_000;
/// The largest request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;

/// A warning if a rule looks as if it could cost more than the API server allows, with the bound to add.
pub fn check(node: &Node, rule: &str, expression: &IdedExpr) -> Option<Hit> {
    let mut scope = vec![
        ("self".to_owned(), node.schema),
        ("oldSelf".to_owned(), node.schema),
    ];
    let once = cost(expression, &mut scope);
    let times = node
        .occurrences
        .unwrap_or(REQUEST / (smallest(node.schema) + 1));
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

/// The fewest bytes that a value takes in a request.
fn smallest(schema: &Value) -> u64 {
    let fields = schema["properties"].as_object();
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    match schema["type"].as_str() {
        Some("object") => {
            let field = |name: &str| {
                let field = fields?
                    .get(name)
                    .filter(|field| field["default"].is_null())?;
                Some(name.len() as u64 + smallest(field) + 4)
            };
            2 + required.filter_map(field).sum::<u64>()
        }
        Some("string" | "array") => 2,
        Some("boolean") => 4,
        _ => 1,
    }
}

/// How many parts a list or map can have, or characters a string.
fn size(schema: &Value) -> u64 {
    let bound = |key: &str| schema[key].as_u64();
    match schema["type"].as_str() {
        Some("array") => {
            bound("maxItems").unwrap_or_else(|| REQUEST / (smallest(&schema["items"]) + 1))
        }
        Some("object") if schema["additionalProperties"].is_object() => bound("maxProperties")
            .unwrap_or_else(|| REQUEST / (smallest(&schema["additionalProperties"]) + 6)),
        Some("string") => match bound("maxLength") {
            Some(characters) => characters.saturating_mul(4),
            None if schema["enum"].is_array() => 64,
            None if !schema["format"].is_null() => 64,
            None => REQUEST,
        },
        _ if schema["x-kubernetes-int-or-string"] == json!(true) => REQUEST,
        _ => 1,
    }
}

type Scope<'a> = Vec<(String, &'a Value)>;

/// The schema of what an expression selects, as far as that is one.
fn schema<'a>(expression: &IdedExpr, scope: &Scope<'a>) -> &'a Value {
    match &expression.expr {
        Expr::Ident(name) => scope
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map_or(&Value::Null, |(_, schema)| schema),
        Expr::Select(select) => {
            let on = schema(&select.operand, scope);
            on["properties"]
                .get(&select.field)
                .unwrap_or(&on["additionalProperties"])
        }
        Expr::Call(call) if call.func_name == "_[_]" => {
            let on = call
                .args
                .first()
                .map_or(&Value::Null, |on| schema(on, scope));
            if on["items"].is_object() {
                &on["items"]
            } else {
                &on["additionalProperties"]
            }
        }
        _ => &Value::Null,
    }
}

fn cost<'a>(expression: &IdedExpr, scope: &mut Scope<'a>) -> u64 {
    match &expression.expr {
        Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => 0,
        Expr::Ident(_) => 1,
        Expr::Select(select) => 1 + cost(&select.operand, scope),
        Expr::List(list) => {
            10 + list
                .elements
                .iter()
                .map(|item| cost(item, scope))
                .sum::<u64>()
        }
        Expr::Map(map) => {
            let entry = |entry: &EntryExpr, scope: &mut Scope<'a>| match entry {
                EntryExpr::MapEntry(entry) => cost(&entry.key, scope) + cost(&entry.value, scope),
                EntryExpr::StructField(_) => 0,
            };
            30 + map
                .entries
                .iter()
                .map(|each| entry(&each.expr, scope))
                .sum::<u64>()
        }
        Expr::Call(call) => {
            let parts: Vec<&IdedExpr> = call
                .target
                .as_deref()
                .into_iter()
                .chain(&call.args)
                .collect();
            let inner: u64 = parts
                .iter()
                .map(|part| cost(part, scope))
                .fold(0, u64::saturating_add);
            let through = matches!(
                call.func_name.as_str(),
                "_==_"
                    | "_!=_"
                    | "_<_"
                    | "_>_"
                    | "_<=_"
                    | "_>=_"
                    | "contains"
                    | "matches"
                    | "startsWith"
                    | "endsWith"
                    | "@in"
                    | "find"
                    | "replace"
                    | "split"
            );
            // Comparing costs as much as the smaller side.
            let sizes = parts.iter().map(|part| match &part.expr {
                Expr::Literal(_) => 10,
                _ => size(schema(part, scope)),
            });
            let length = match call.func_name.as_str() {
                "_==_" | "_!=_" | "_<_" | "_>_" | "_<=_" | "_>=_" => sizes.min(),
                "matches" | "contains" => sizes.reduce(|a, b| a.saturating_mul(b.div_ceil(4))),
                _ => sizes.max(),
            };
            let extra = if through {
                length.unwrap_or(1).div_ceil(10)
            } else {
                0
            };
            inner.saturating_add(1).saturating_add(extra)
        }
        Expr::Comprehension(macros) => {
            let range = schema(&macros.iter_range, scope);
            let times = if range.is_null() { 10 } else { size(range) };
            let item = if range["items"].is_object() {
                &range["items"]
            } else {
                &Value::Null
            };
            let outer = scope.len();
            let start = cost(&macros.iter_range, scope);
            scope.push((macros.iter_var.clone(), item));
            let step =
                cost(&macros.loop_cond, scope).saturating_add(cost(&macros.loop_step, scope));
            scope.truncate(outer);
            start.saturating_add(times.saturating_mul(step))
        }
    }
}

/// What is without a bound, as paths from here.
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
