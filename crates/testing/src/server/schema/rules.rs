//! Rules in CEL, evaluated by the linter's code, with the messages of the API server.

use std::sync::Arc;

use serde_json::Value;

use super::{
    expressions::{self, Message, Rule, Verdict, Why},
    problem::{Problem, Reason},
};
use crate::unevaluated::Unevaluated;

pub(crate) use super::expressions::holds;

/// The rules of a schema. Clones share what is known of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    compiled: Option<Arc<expressions::Rules>>,
    unevaluated: Unevaluated,
}

impl Rules {
    pub(crate) fn of(schema: &Value) -> Self {
        Self {
            compiled: expressions::Rules::of(schema, true).map(Arc::new),
            unevaluated: Unevaluated::default(),
        }
    }

    /// Whether there are any to evaluate.
    pub(crate) fn any(&self) -> bool {
        self.compiled.is_some()
    }

    /// What they reject of an object, which replaces another or is created. Those that cannot be evaluated accept it, and are
    /// recorded.
    pub(crate) fn problems(
        &self,
        schema: &Value,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<Problem> {
        let Some(rules) = &self.compiled else {
            return Vec::new();
        };
        let found = match old {
            Some(old) => rules.check_update(schema, new, old),
            None => rules.check(schema, new, None),
        };
        found.iter().filter_map(|it| self.problem(it)).collect()
    }

    /// Whether they accept an update for certain.
    #[cfg(feature = "simulate")]
    pub(crate) fn accept(&self, schema: &Value, new: &Value, old: &Value) -> bool {
        let rules = self.compiled.as_ref();
        rules.is_none_or(|rules| rules.check_update(schema, new, old).is_empty())
    }

    /// The rules that could not be evaluated.
    pub(crate) fn unevaluated(&self) -> Vec<String> {
        self.unevaluated.all()
    }

    fn record(&self, expression: &str) {
        self.unevaluated.record("rule", expression);
    }

    fn problem(&self, verdict: &Verdict<'_>) -> Option<Problem> {
        let (rule, field) = (verdict.rule, verdict.path.to_string());
        match &verdict.why {
            Why::Unknown => {
                self.record(&rule.text);
                None
            }
            Why::Failed(why) => {
                let why = format!("{why} evaluating rule: {}", named(rule));
                // The API server shows the type instead of the value.
                let kind = &verdict.schema["type"];
                let kind = kind.as_str().unwrap_or_default().into();
                Some(Problem::of_value(Reason::Invalid, &field, &kind, &why))
            }
            Why::Violated(made) => {
                if let Some(Message::Unknown) = made {
                    self.record(rule.message_expression.as_deref().unwrap_or_default());
                }
                let made = match made {
                    Some(Message::Text(text)) => Some(text.clone()),
                    _ => rule.message.as_ref().map(|text| text.trim().to_owned()),
                };
                let why = made.unwrap_or_else(|| format!("failed rule: {}", named(rule)));
                Some(violation(verdict, &field, &why))
            }
        }
    }
}

/// How messages name a rule.
fn named(rule: &Rule) -> &str {
    rule.message.as_deref().unwrap_or(&rule.text).trim()
}

fn violation(verdict: &Verdict<'_>, field: &str, why: &str) -> Problem {
    let is_scalar = !["object", "array"].contains(&verdict.schema["type"].as_str().unwrap_or(""));
    let of_value = |reason, why| match verdict.value {
        value if is_scalar => Problem::of_value(reason, field, value, why),
        _ => Problem::new(reason, field, why),
    };
    match verdict.rule.reason.as_deref() {
        Some("FieldValueForbidden") => Problem::new(Reason::Forbidden, field, why),
        Some("FieldValueRequired") => Problem::new(Reason::Required, field, why),
        Some("FieldValueDuplicate") => of_value(Reason::Duplicate, ""),
        _ => of_value(Reason::Invalid, why),
    }
}
