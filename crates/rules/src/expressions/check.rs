//! Evaluates rules on a value, and on the one that it replaces, like the API server.
//!
//! Source: `pkg/apiserver/schema/cel/validation.go` of apiextensions-apiserver. The cost of rules is not counted.

use std::cell::Cell;

use serde_json::Value;

use super::super::ratcheting::{Keyed, Pair};
use super::data::Data;
use super::outcome::Stop;
use super::ratchet::Ratchet;
use super::rules::{Compiled, Rule, Rules};
use super::run::Run;
use crate::path::{FieldPath, Step};

/// The steps of all rules of a value: `RuntimeCELCostBudget` of the API server, in another unit.
const STEPS: usize = 10_000_000;

/// The longest message that an expression may make: `MaxEvaluatedMessageExpressionSizeBytes`.
const LONGEST: usize = 5120;

/// A rule that does not accept a value.
#[derive(Debug)]
pub struct Verdict<'v> {
    /// The path of the violation.
    pub path: FieldPath,
    /// The value that the rule is about.
    pub value: &'v Value,
    /// Its schema.
    pub schema: &'v Value,
    /// The rule.
    pub rule: &'v Rule,
    /// Why it does not accept the value.
    pub why: Why,
}

/// Why a rule does not accept a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is violated. With the result of its expression for the message, if it has one that is evaluated.
    Violated(Option<Message>),
    /// It has a runtime error, in the API server too.
    Failed(String),
    /// Unknown: it cannot be evaluated here.
    Unknown,
}

/// The result of an expression for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The text, without spaces around it.
    Text(String),
    /// It cannot be evaluated here.
    Unknown,
}

impl Rules {
    /// What rules say about a value, if they do not accept it. Without `old`, rules that need it do not run.
    #[must_use]
    pub fn check<'v>(
        &'v self,
        schema: &'v Value,
        new: &'v Value,
        old: Option<&'v Value>,
    ) -> Vec<Verdict<'v>> {
        self.check_within(&Cell::new(STEPS), schema, new, old)
    }

    /// The same with steps that are shared with other values. What is left to do without them is unknown.
    pub fn check_within<'v>(
        &'v self,
        steps: &Cell<usize>,
        schema: &'v Value,
        new: &'v Value,
        old: Option<&'v Value>,
    ) -> Vec<Verdict<'v>> {
        self.walk(steps, schema, new, old, Ratchet::default())
    }

    /// The same for an update: what it leaves as it was may violate rules.
    #[must_use]
    pub fn check_update<'v>(
        &'v self,
        schema: &'v Value,
        new: &'v Value,
        old: &'v Value,
    ) -> Vec<Verdict<'v>> {
        self.walk(
            &Cell::new(STEPS),
            schema,
            new,
            Some(old),
            Ratchet::root(Pair { schema, new, old }),
        )
    }

    fn walk<'v>(
        &'v self,
        steps: &Cell<usize>,
        schema: &'v Value,
        new: &'v Value,
        old: Option<&'v Value>,
        ratchet: Ratchet<'v>,
    ) -> Vec<Verdict<'v>> {
        let mut walk = Walk {
            path: FieldPath::default(),
            found: Vec::new(),
            steps,
        };
        walk.value(
            self,
            &At {
                schema,
                new,
                old,
                ratchet,
            },
        );
        walk.found
    }
}

/// A value during the walk.
struct At<'v> {
    schema: &'v Value,
    new: &'v Value,
    old: Option<&'v Value>,
    ratchet: Ratchet<'v>,
}

struct Walk<'v, 's> {
    path: FieldPath,
    found: Vec<Verdict<'v>>,
    steps: &'s Cell<usize>,
}

impl<'v> Walk<'v, '_> {
    fn value(&mut self, rules: &'v Rules, at: &At<'v>) {
        if at.new.is_null() {
            return;
        }
        self.own(rules, at);
        for rules in &rules.all_of {
            let ratchet = at.ratchet.of_all();
            self.value(rules, &At { ratchet, ..*at });
        }
        match at.new {
            Value::Object(fields) => {
                for (name, new) in fields {
                    let (old, ratchet) =
                        (at.old.and_then(|old| old.get(name)), at.ratchet.field(name));
                    let below = |schema| At {
                        schema,
                        new,
                        old,
                        ratchet,
                    };
                    if let Some(values) = &rules.values {
                        let step = Step::Key(name.clone());
                        self.below(step, values, &below(&at.schema["additionalProperties"]));
                    }
                    if let Some(field) = rules.fields.get(name) {
                        let step = Step::Field(name.clone());
                        self.below(step, field, &below(&at.schema["properties"][name]));
                    }
                }
            }
            Value::Array(items) => {
                let Some(rules) = &rules.items else { return };
                let old = at.old.and_then(|old| Keyed::of(at.schema, old));
                for (index, new) in items.iter().enumerate() {
                    let below = At {
                        schema: &at.schema["items"],
                        new,
                        old: old.as_ref().and_then(|old| old.get(new)),
                        ratchet: at.ratchet.item(index),
                    };
                    self.below(Step::Index(index), rules, &below);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, step: Step, rules: &'v Rules, at: &At<'v>) {
        self.path.0.push(step);
        self.value(rules, at);
        self.path.0.pop();
    }

    fn own(&mut self, rules: &'v Rules, at: &At<'v>) {
        if rules.own.is_empty() {
            return;
        }
        let seen = |value| Data::of(at.schema, value, rules.is_resource);
        let old = at.old.filter(|old| !old.is_null());
        let (new, old) = (seen(at.new), old.map(seen));
        for rule in &rules.own {
            let why = match (&new, &old) {
                (None, _) | (_, Some(None)) => Some(Why::Unknown),
                (Some(new), Some(old)) => rule.why(new, old.as_ref(), &at.ratchet, self.steps),
                (Some(new), None) => rule.why(new, None, &at.ratchet, self.steps),
            };
            let Some(why) = why else {
                continue;
            };
            let mut path = self.path.clone();
            if let Why::Violated(_) = why {
                path.0.extend(rule.path.0.iter().cloned());
            }
            let (value, schema) = (at.new, at.schema);
            self.found.push(Verdict {
                path,
                value,
                schema,
                rule,
                why,
            });
        }
    }
}

impl Rule {
    /// Why it does not accept a value; `None` if it does.
    fn why(
        &self,
        new: &Data,
        old: Option<&Data>,
        ratchet: &Ratchet<'_>,
        steps: &Cell<usize>,
    ) -> Option<Why> {
        let Ok(Compiled {
            expression,
            uses_old,
        }) = &self.condition
        else {
            return Some(Why::Unknown);
        };
        let old = match (old, self.optional) {
            (None, false) if *uses_old => return None,
            (None, _) => Data::Optional(None),
            (Some(old), true) => Data::Optional(Some(old.clone().into())),
            (Some(old), false) => old.clone(),
        };
        let names = || vec![("self", new.clone()), ("oldSelf", old.clone())];
        match Run::shared(names(), expression, steps) {
            Ok(Data::Bool(true)) => None,
            Ok(Data::Bool(false)) if !uses_old && ratchet.is_same() => None,
            Ok(Data::Bool(false)) => Some(Why::Violated(self.made(names(), steps))),
            Err(Stop::Failed(why)) => Some(Why::Failed(why)),
            _ => Some(Why::Unknown),
        }
    }

    /// The result of its expression for the message; `None` if it has none, or that has none in the API server either.
    fn made(&self, names: Vec<(&str, Data)>, steps: &Cell<usize>) -> Option<Message> {
        let Some(expression) = &self.text_of_message else {
            return self.message_expression.as_ref().map(|_| Message::Unknown);
        };
        match Run::shared(names, expression, steps) {
            Ok(Data::Text(text)) => {
                let text = text.trim();
                let fits = !text.is_empty() && text.len() <= LONGEST && !text.contains('\n');
                fits.then(|| Message::Text(text.to_owned()))
            }
            Err(Stop::Failed(_)) => None,
            _ => Some(Message::Unknown),
        }
    }
}
