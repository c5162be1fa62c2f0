//! What the rules of a schema say about a value, in the words of the API server.

use std::cell::Cell;

use serde_json::Value;

use crate::Judgement;
use crate::expressions::{Message, Rule, Verdict, Why};
pub use crate::expressions::{Rules, holds};
use crate::problem::{Problem, Reason};

impl Rules {
    /// What they say about a value that replaces another or is created.
    #[must_use]
    pub fn judge(&self, schema: &Value, new: &Value, old: Option<&Value>) -> Judgement {
        let found = match old {
            Some(old) => self.check_update(schema, new, old),
            None => self.check(schema, new, None),
        };
        Judgement::of(&found)
    }

    /// What they say about a default, which is its own `oldSelf`, as far as some steps reach.
    #[must_use]
    pub fn judge_default(&self, steps: &Cell<usize>, schema: &Value, value: &Value) -> Judgement {
        Judgement::of(&self.check_within(steps, schema, value, Some(value)))
    }
}

impl Judgement {
    fn of(verdicts: &[Verdict<'_>]) -> Self {
        let mut judgement = Self::default();
        for verdict in verdicts {
            judgement.add(verdict);
        }
        judgement
    }

    fn add(&mut self, verdict: &Verdict<'_>) {
        let (rule, field) = (verdict.rule, verdict.path.to_string());
        let (problem, why) = match &verdict.why {
            Why::Unknown => return self.unevaluated.push(rule.text.clone()),
            Why::Failed(why) => {
                // The API server shows the type instead of the value.
                let kind = &verdict.schema["type"];
                let kind = kind.as_str().unwrap_or_default().into();
                let text = format!("{why} evaluating rule: {}", named(rule));
                let problem = Problem::of_value(Reason::Invalid, &field, &kind, &text);
                (problem, Some(why.clone()))
            }
            Why::Violated(made) => {
                if let Some(Message::Unknown) = made {
                    self.unevaluated.extend(rule.message_expression.clone());
                }
                let made = match made {
                    Some(Message::Text(text)) => Some(text.clone()),
                    _ => rule.message.as_ref().map(|text| text.trim().to_owned()),
                };
                let why = made.clone();
                let text = why.unwrap_or_else(|| format!("failed rule: {}", named(rule)));
                (violation(verdict, &field, &text), made)
            }
        };
        let why = why.filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let plain = format!("violates the rule `{}`{why}", rule.text);
        self.problems
            .push(problem.of(verdict.path.dotted()).plain(plain));
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

#[cfg(test)]
mod tests;
