//! Rules in CEL (`x-kubernetes-validations`): that they compile against the schema that they are for, and what they cost.

mod check;
pub mod condition;
mod constants;
mod cost;
mod data;
pub mod evaluate;
mod functions;
mod operators;
mod overload;
mod run;
mod types;

use cel::IdedExpr;
use cel::parser::Parser;
use serde_json::{Value, json};

use super::Finding;
use super::node::Node;
use types::Type;

const LANGUAGE: &str = "rules are written in CEL; `validate_cel` of a kind with `cel` in `#[kube(…)]` runs them in a unit test";

/// What is wrong with the rules of a schema.
pub fn check(node: &Node, found: &mut Vec<Finding>) {
    let rules = node.get("x-kubernetes-validations").as_array();
    for rule in rules.into_iter().flatten() {
        form(node, rule, found);
        let text = rule["rule"].as_str().unwrap_or_default();
        if !text.trim().is_empty() {
            expressions(node, rule, text, found);
        }
    }
}

/// What the API server asks of a rule besides the expression.
fn form(node: &Node, rule: &Value, found: &mut Vec<Finding>) {
    let text = |key: &str| rule[key].as_str();
    let blank =
        |key: &str| text(key).is_some_and(|value| value.trim().is_empty() && !value.is_empty());
    let lines = |key: &str| text(key).is_some_and(|value| value.trim().contains(['\n', '\r']));
    let mut error = |text: String, help: &str| found.push(Finding::error(&node.path, text, help));
    let shown = text("rule").unwrap_or_default();
    if shown.trim().is_empty() {
        error(
            "a rule is empty".to_owned(),
            "write what must be true of `self`",
        );
    }
    for key in ["message", "messageExpression", "fieldPath"] {
        if blank(key) {
            error(
                format!("rule `{shown}`: its `{key}` is blank"),
                "leave it out, or write one",
            );
        }
    }
    if lines("message") || lines("fieldPath") {
        error(
            format!("rule `{shown}`: its message or field path has more than one line"),
            "write it in one line",
        );
    }
    if lines("rule") && text("message").is_none_or(str::is_empty) {
        error(
            "a rule of several lines has no message".to_owned(),
            "add one: `Rule::new(…).message(\"…\")`",
        );
    }
    let reasons = [
        "FieldValueRequired",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueDuplicate",
    ];
    if let Some(reason) = text("reason").filter(|reason| !reasons.contains(reason)) {
        error(
            format!("rule `{shown}`: `{reason}` is no reason"),
            "use one of kube's `Reason`",
        );
    }
    if let Some(path) =
        text("fieldPath").filter(|path| !path.trim().is_empty() && !leads(node.schema, path))
    {
        error(
            format!("rule `{shown}`: its field path `{path}` leads to no field"),
            "write it from here, as `.spec.name`",
        );
    }
}

/// Whether `.a.b['c']` leads from a schema to a field or a value of a map.
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

fn expressions(node: &Node, rule: &Value, text: &str, found: &mut Vec<Finding>) {
    let Some(root) = Type::of(node.schema, node.is_resource()) else {
        let text = "a rule stands at something without a schema, where there is no `self`";
        found.push(Finding::error(
            &node.path,
            text,
            "move it to the nearest type that has one",
        ));
        return;
    };
    let optional = rule["optionalOldSelf"] == json!(true);
    let message = rule["messageExpression"]
        .as_str()
        .filter(|text| !text.trim().is_empty());
    let parts = [
        ("rule", Some(text), Type::Bool),
        ("message", message, Type::String),
    ];
    for (what, text, wanted) in parts {
        let Some(text) = text else { continue };
        let mut error = |reason: &str| {
            found.push(Finding::error(
                &node.path,
                format!("{what} `{text}`: {reason}"),
                LANGUAGE,
            ));
        };
        let expression = match parse(text) {
            Ok(expression) => expression,
            Err(reason) => {
                error(&reason);
                continue;
            }
        };
        let mut checker = check::Checker::new(&root, optional);
        match checker.infer(&expression) {
            Err(reason) => error(&reason),
            Ok(kind) if kind != wanted && what == "rule" => {
                error(&format!("gives {kind}, not a bool"));
            }
            Ok(kind) if kind != wanted => error(&format!("gives {kind}, not a string")),
            Ok(_) => {}
        }
        if what == "rule" {
            old(node, text, checker.uses_old, rule, found);
        }
        found.extend(cost::check(node, text, &expression));
    }
}

/// Reads an expression, or says why it cannot be read.
fn parse(text: &str) -> Result<IdedExpr, String> {
    let parsed = Parser::new().enable_optional_syntax(true).parse(text);
    parsed.map_err(|errors| {
        let first = errors.errors.first();
        let reason =
            first.map_or_else(|| "it cannot be read".to_owned(), |error| plain(&error.msg));
        let column = first.map_or(1, |error| error.pos.1);
        format!("{reason}, at letter {column}")
    })
}

/// The parser's message without what else could stand there, which is nearly everything.
fn plain(message: &str) -> String {
    let message = message.trim().trim_start_matches("Syntax error: ");
    let message = message.split(" expecting ").next().unwrap_or(message);
    let mut plain = message.replace("'<EOF>'", "end");
    for odd in [
        "extraneous input",
        "mismatched input",
        "no viable alternative at input",
        "token recognition error at:",
    ] {
        plain = plain.replace(odd, "unexpected");
    }
    plain
}

/// `oldSelf` needs values that can be found again in the old object.
fn old(node: &Node, text: &str, used: bool, rule: &Value, found: &mut Vec<Finding>) {
    if let Some(list) = node.unrelated.as_ref().filter(|_| used) {
        let text = format!(
            "rule `{text}`: there is no `oldSelf` in `{list}`, whose parts have no identity"
        );
        let help = "give the list a key: `#[x_kube(merge_strategy = ListMerge::Map(vec![\"<key>\".into()]))]`, or write the rule at the list";
        found.push(Finding::error(&node.path, text, help));
    }
    if !used && !rule["optionalOldSelf"].is_null() {
        let text = format!("rule `{text}`: `optional_old_self` is set, and `oldSelf` is not used");
        found.push(Finding::error(&node.path, text, "leave it out"));
    }
}

#[cfg(test)]
mod tests;
