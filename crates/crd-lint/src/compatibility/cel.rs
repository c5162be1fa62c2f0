//! CEL rules (`x-kubernetes-validations`).

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::Expr;
use serde_json::Value;

use super::pair::Pair;
use super::rule::Break;
use apiserver_rules::expressions::{parse, unquoted};

/// Rules that are new or different.
pub fn added(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() || pair.keeps_every_value() {
        return;
    }
    let (old, new) = pair.both("x-kubernetes-validations");
    let before: BTreeSet<_> = rules(old).collect();
    for rule in rules(new).filter(|rule| !before.contains(rule)) {
        found.extend(check(pair, rule.0));
    }
}

/// The texts of rules, and whether they are evaluated without an old value.
fn rules(list: &Value) -> impl Iterator<Item = (&str, bool)> {
    let rules = list.as_array().into_iter().flatten();
    rules.map(|rule| {
        let text = rule["rule"].as_str().unwrap_or_default().trim();
        (text, rule["optionalOldSelf"] == true)
    })
}

fn check(pair: &Pair, rule: &str) -> Option<Break> {
    let parsed = parse(rule).ok()?;
    if holds_without_new_fields(pair, &parsed) {
        return None;
    }
    let text = format!("the rule `{rule}` is new or different");
    if uses_old(rule) && (pair.ratchets() || !compares_all(&parsed)) {
        let help = "it compares with the old value: make sure that it accepts updates that do not change the fields it checks";
        return Some(Break::new(pair.path(), text, help).tolerated_if(true));
    }
    let guard = if pair.ratchets() {
        "keep accepting others, or restrict them in a new version"
    } else {
        "accept existing values: set `optionalOldSelf`, and begin with `oldSelf.hasValue() && oldSelf.value().<field> == self.<field> ||` for the fields that the rule checks"
    };
    Some(Break::stricter(pair, text, guard))
}

/// Whether the old value is part of the rule.
fn uses_old(rule: &str) -> bool {
    let word = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    rule.split(|byte| !word(byte)).any(|it| it == "oldSelf")
}

/// Whether the rule accepts an old value only if nothing in it has changed: `oldSelf.hasValue() && oldSelf.value() == self || …`.
fn compares_all(rule: &IdedExpr) -> bool {
    let Expr::Call(call) = &rule.expr else {
        return false;
    };
    let is_self = |it: &IdedExpr| matches!(&it.expr, Expr::Ident(name) if name == "self");
    let is_old = |it: &IdedExpr| {
        matches!(&it.expr, Expr::Call(call) if call.func_name == "value"
            && call.target.as_ref().is_some_and(|it| matches!(&it.expr, Expr::Ident(name) if name == "oldSelf")))
    };
    match (call.func_name.as_str(), &call.args[..]) {
        ("_||_" | "_&&_", all) => all.iter().any(compares_all),
        ("_==_", [a, b]) => is_self(a) && is_old(b) || is_old(a) && is_self(b),
        _ => false,
    }
}

/// Whether the rule is true for every object of the old schema, because it asks for a field that no such object has:
/// `!has(self.new) || …`, `has(self.new) ? … : true`.
fn holds_without_new_fields(pair: &Pair, rule: &IdedExpr) -> bool {
    let Expr::Call(call) = &rule.expr else {
        return false;
    };
    match (call.func_name.as_str(), &call.args[..]) {
        ("_||_", all) => all.iter().any(|it| holds_without_new_fields(pair, it)),
        ("_&&_", all) => all.iter().all(|it| holds_without_new_fields(pair, it)),
        ("!_", [inner]) => asks_for_new_field(pair, inner),
        ("_?_:_", [condition, _, otherwise]) => {
            asks_for_new_field(pair, condition)
                && matches!(&otherwise.expr, Expr::Literal(cel::common::ast::LiteralValue::Boolean(it)) if *it.inner())
        }
        _ => false,
    }
}

/// Whether an expression is `has(self.field)`, for a field that did not exist and has no default.
fn asks_for_new_field(pair: &Pair, expression: &IdedExpr) -> bool {
    let Expr::Select(select) = &expression.expr else {
        return false;
    };
    let of_self = matches!(&select.operand.expr, Expr::Ident(name) if name == "self");
    let name = unquoted(&select.field);
    let (old, new) = pair.both("properties");
    let is_new = old[name].is_null() && new[name].is_object() && new[name]["default"].is_null();
    select.test && of_self && is_new
}
