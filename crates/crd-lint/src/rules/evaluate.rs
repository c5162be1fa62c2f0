//! Evaluates rules on a value like the API server.

use serde_json::{Value, json};

use super::data::Data;
use super::infer::Checker;
use super::outcome::Stop;
use super::parse::parse;
use super::run::Run;
use super::types::Type;
use crate::node::is_embedded;

/// A rule that a value violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The path of the violation, relative to the value: `.spec.ports[0]`.
    pub path: String,
    /// The rule.
    pub rule: String,
    /// Its message, or why it cannot be evaluated.
    pub why: Option<String>,
}

/// The value of `oldSelf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// None, because the object is created: rules that need it do not run.
    None,
    /// The value itself, as in the API server's validation of defaults.
    Same,
}

/// The rules of a schema and the schemas in it that `value` violates. Rules that cannot be evaluated here (with a function of
/// Kubernetes' libraries, or a timestamp) are skipped.
#[must_use]
pub fn broken(schema: &Value, value: &Value, old: Old) -> Vec<Broken> {
    let mut found = Vec::new();
    walk(schema, value, is_embedded(schema), old, "", &mut found);
    found
}

/// Like [`broken`], for a whole object that is created, with its name.
#[must_use]
pub fn broken_by_object(schema: &Value, object: &Value) -> Vec<Broken> {
    let mut found = Vec::new();
    walk(schema, object, true, Old::None, "", &mut found);
    found
}

fn walk(
    schema: &Value,
    value: &Value,
    resource: bool,
    old: Old,
    path: &str,
    found: &mut Vec<Broken>,
) {
    if value.is_null() {
        return;
    }
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules.into_iter().flatten() {
        let Some(why) = breaks(schema, value, resource, old, rule) else {
            continue;
        };
        let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        let path = format!("{path}{}", text("fieldPath"));
        let (why, rule) = (Some(why).filter(|why| !why.is_empty()), text("rule"));
        found.push(Broken { path, rule, why });
    }
    let mut below = |schema: &Value, value: &Value, path: String| {
        walk(schema, value, is_embedded(schema), old, &path, found);
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let field = schema["properties"].get(name);
                let field = field.unwrap_or(&schema["additionalProperties"]);
                below(field, value, format!("{path}.{name}"));
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                below(&schema["items"], item, format!("{path}[{position}]"));
            }
        }
        _ => {}
    }
}

/// The message if a rule is violated, which can be empty; `None` if it is not, or if that is unknown.
fn breaks(schema: &Value, value: &Value, resource: bool, old: Old, rule: &Value) -> Option<String> {
    let parse = |key: &str| {
        let text = rule[key].as_str()?;
        parse(text).ok()
    };
    let expression = parse("rule")?;
    let optional = rule["optionalOldSelf"] == json!(true);
    // Compile errors are reported elsewhere.
    let kind = Type::of(schema, resource)?;
    let mut checker = Checker::new(&kind, optional);
    checker.infer(&expression).ok()?;
    let value = Data::of(schema, value, resource)?;
    let before = match (old, optional) {
        (Old::None, false) if checker.uses_old() => return None,
        (Old::None, _) => Data::Optional(None),
        (Old::Same, true) => Data::Optional(Some(value.clone().into())),
        (Old::Same, false) => value.clone(),
    };
    let names = || vec![("self", value.clone()), ("oldSelf", before.clone())];
    match Run::new(names()).value(&expression) {
        Ok(Data::Bool(false)) => {}
        Err(Stop::Failed(why)) => return Some(why),
        _ => return None,
    }
    let made = parse("messageExpression");
    let made = made.and_then(|made| match Run::new(names()).value(&made) {
        Ok(Data::Text(text)) if !text.trim().is_empty() && !text.contains('\n') => {
            Some(text.trim().to_owned())
        }
        _ => None,
    });
    let message = rule["message"].as_str().unwrap_or_default();
    Some(made.unwrap_or_else(|| message.trim().to_owned()))
}

#[cfg(test)]
mod tests;
