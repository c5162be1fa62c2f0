//! Evaluates rules on a value like the API server.

use std::cell::Cell;

use serde_json::Value;

use crate::expressions::{FieldPath, Message, Rules, Step, Verdict, Why};
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
    let old = match old {
        Old::None => None,
        Old::Same => Some(value),
    };
    found(schema, value, old, is_embedded(schema), None)
}

/// Like [`broken`] with [`Old::Same`], with steps that are shared with other values.
pub(crate) fn broken_within(steps: &Cell<usize>, schema: &Value, value: &Value) -> Vec<Broken> {
    found(schema, value, Some(value), is_embedded(schema), Some(steps))
}

/// Like [`broken`], for a whole object that is created, with its name.
#[must_use]
pub fn broken_by_object(schema: &Value, object: &Value) -> Vec<Broken> {
    found(schema, object, None, true, None)
}

fn found(
    schema: &Value,
    value: &Value,
    old: Option<&Value>,
    is_resource: bool,
    steps: Option<&Cell<usize>>,
) -> Vec<Broken> {
    let Some(rules) = Rules::of(schema, is_resource) else {
        return Vec::new();
    };
    let found = match steps {
        Some(steps) => rules.check_within(steps, schema, value, old),
        None => rules.check(schema, value, old),
    };
    found.iter().filter_map(shown).collect()
}

/// What a rule says, unless that is unknown.
fn shown(verdict: &Verdict) -> Option<Broken> {
    let rule = verdict.rule;
    let why = match &verdict.why {
        Why::Unknown => return None,
        Why::Failed(why) => Some(why.clone()),
        Why::Violated(Some(Message::Text(text))) => Some(text.clone()),
        Why::Violated(_) => rule.message.as_ref().map(|text| text.trim().to_owned()),
    };
    Some(Broken {
        path: path(&verdict.path),
        rule: rule.text.clone(),
        why: why.filter(|why| !why.is_empty()),
    })
}

fn path(path: &FieldPath) -> String {
    let steps = path.0.iter().map(|step| match step {
        Step::Field(name) | Step::Key(name) => format!(".{name}"),
        Step::Index(index) => format!("[{index}]"),
    });
    steps.collect()
}

#[cfg(test)]
mod tests;
