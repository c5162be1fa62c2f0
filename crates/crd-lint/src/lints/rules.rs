//! Rules in CEL (`x-kubernetes-validations`) must compile against their schema.

use cel::IdedExpr;
use serde_json::{Value, json};

use super::cost::Costs;
use crate::lint::Hit;
use crate::node::Node;
use apiserver_rules::expressions::{Cause, Checker, Type, TypeError, parse};

const LANGUAGE: &str = "rules are written in CEL; to run them in a unit test, add `cel` to `#[kube(…)]` and call `validate_cel`";

/// A compiled expression of a rule.
struct Expression<'a> {
    /// `rule` or `message`.
    what: &'static str,
    text: &'a str,
    rule: &'a Value,
    /// The required type.
    wanted: Type,
    inferred: Result<Type, TypeError>,
    uses_old: bool,
    /// The syntax tree; `None` if it does not parse.
    parsed: Option<IdedExpr>,
}

/// The expressions of the rules of a schema; empty if there is no `self`.
fn expressions<'a>(node: &Node<'a>) -> Vec<Expression<'a>> {
    let mut found = Vec::new();
    let mut rules = node.rules().peekable();
    let root = rules.peek().and_then(|_| root(node));
    let Some(root) = root else {
        return found;
    };
    for rule in rules {
        let text = |key: &str| rule[key].as_str().filter(|text| !text.trim().is_empty());
        let Some(condition) = text("rule") else {
            continue;
        };
        found.push(compiled("rule", condition, rule, Type::Bool, &root));
        let message = text("messageExpression");
        found.extend(message.map(|text| compiled("message", text, rule, Type::String, &root)));
    }
    found
}

/// The type of `self`, if there is one.
fn root(node: &Node) -> Option<Type> {
    Type::of(node.schema, node.is_resource())
}

fn compiled<'a>(
    what: &'static str,
    text: &'a str,
    rule: &'a Value,
    wanted: Type,
    root: &Type,
) -> Expression<'a> {
    let mut checker = Checker::new(root, rule["optionalOldSelf"] == json!(true));
    let parsed = parse(text);
    let inferred = match &parsed {
        Ok(expression) => checker.infer(expression),
        Err(reason) => Err(reason.clone().into()),
    };
    Expression {
        what,
        text,
        rule,
        wanted,
        inferred,
        uses_old: checker.uses_old(),
        parsed: parsed.ok(),
    }
}

/// Checks that rules parse and have no type errors.
pub fn types(node: &Node, found: &mut Vec<Hit>) {
    let has_text = |rule: &&Value| !rule["rule"].as_str().unwrap_or_default().trim().is_empty();
    let mut rules = node.rules().filter(has_text).peekable();
    if rules.peek().is_some() && root(node).is_none() {
        for _ in rules {
            let text = "a rule on a value without a schema has no `self`";
            let help = "move it to the nearest type with a schema";
            found.push(Hit::new(&node.path, text, help));
        }
    }
    for it in expressions(node) {
        let wanted = &it.wanted;
        let reason = match &it.inferred {
            Err(error) if error.cause == Cause::Mismatch => error.message.clone(),
            Ok(kind) if kind != wanted => format!("must evaluate to {wanted}, not {kind}"),
            _ => continue,
        };
        found.push(hit(node, &it, &reason));
    }
}

/// Checks that the functions in rules are known.
pub fn functions(node: &Node, found: &mut Vec<Hit>) {
    unknown(node, Cause::UnknownFunction, found);
}

/// Checks that the functions in rules have overloads for their arguments.
pub fn overloads(node: &Node, found: &mut Vec<Hit>) {
    unknown(node, Cause::UnknownOverload, found);
}

/// Checks that the variables in rules are known.
pub fn variables(node: &Node, found: &mut Vec<Hit>) {
    unknown(node, Cause::UnknownVariable, found);
}

fn unknown(node: &Node, cause: Cause, found: &mut Vec<Hit>) {
    for it in expressions(node) {
        if let Err(error) = it.inferred.as_ref()
            && error.cause == cause
        {
            found.push(hit(node, &it, &error.message));
        }
    }
}

fn hit(node: &Node, it: &Expression, reason: &str) -> Hit {
    let text = format!("{} `{}`: {reason}", it.what, it.text);
    Hit::new(&node.path, text, LANGUAGE)
}

/// Checks that rules do not cost more than the API server allows.
pub fn cost(node: &Node, found: &mut Vec<Hit>) {
    let costs = Costs::new(node);
    for it in expressions(node) {
        let parsed = it.parsed.as_ref();
        found.extend(parsed.and_then(|parsed| costs.check(it.text, parsed)));
    }
}

/// Checks that `oldSelf` is used only where it is available: for values that can be identified in the old object.
pub fn old_self(node: &Node, found: &mut Vec<Hit>) {
    let compiled = expressions(node).into_iter();
    for it in compiled.filter(|it| it.what == "rule" && it.inferred.is_ok()) {
        old(node, &it, found);
    }
}

fn old(node: &Node, it: &Expression, found: &mut Vec<Hit>) {
    let (text, used) = (it.text, it.uses_old);
    if let Some(list) = node.unrelated.as_ref().filter(|_| used) {
        let text = format!(
            "rule `{text}`: `oldSelf` is not available in `{list}`, whose items have no identity"
        );
        let help = "give the list a key: `#[x_kube(merge_strategy = ListMerge::Map(vec![\"<key>\".into()]))]`, or put the rule on the list";
        found.push(Hit::new(&node.path, text, help));
    }
    if !used && !it.rule["optionalOldSelf"].is_null() {
        let text = format!("rule `{text}`: `optional_old_self` is set, but `oldSelf` is not used");
        found.push(Hit::new(&node.path, text, "remove it"));
    }
}

#[cfg(test)]
mod tests;
