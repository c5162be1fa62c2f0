//! What the API server rejects of an object by the schema of its definition: the rules of `apiserver-rules`, and what is not evaluated.
//! Without the feature `cel`, rules in CEL are not.

use std::sync::Arc;

use apiserver_rules::{self as rules, Problem, Reason};
use serde_json::Value;

use crate::unevaluated::Unevaluated;

/// The rules in CEL of a schema. Clones share what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    compiled: Option<Arc<rules::Rules>>,
    unevaluated: Unevaluated,
}

impl Rules {
    pub fn of(schema: &Value) -> Self {
        Self {
            compiled: rules::Rules::of(schema, true).map(Arc::new),
            unevaluated: Unevaluated::default(),
        }
    }

    /// Whether there are any to evaluate.
    pub(super) fn any(&self) -> bool {
        self.compiled.is_some()
    }

    /// What they reject of an object, which replaces another or is created. Those that cannot be evaluated accept it, and are
    /// recorded.
    pub(super) fn problems(
        &self,
        schema: &Value,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<Problem> {
        let Some(rules) = &self.compiled else {
            return Vec::new();
        };
        let judgement = rules.judge(schema, new, old);
        for expression in &judgement.unevaluated {
            self.unevaluated.record("rule", expression);
        }
        judgement.problems
    }

    /// Whether they accept an update for certain.
    #[must_use]
    pub fn accept(&self, schema: &Value, new: &Value, old: &Value) -> bool {
        let rules = self.compiled.as_ref();
        rules.is_none_or(|rules| rules.judge(schema, new, Some(old)) == rules::Judgement::default())
    }

    /// The rules that could not be evaluated.
    #[must_use]
    pub fn unevaluated(&self) -> Vec<String> {
        self.unevaluated.all()
    }
}

/// What the API server rejects of an object, which replaces another or is created.
pub(super) fn rejected(
    schema: &Value,
    rules: &Rules,
    new: &Value,
    old: Option<&Value>,
) -> Vec<Problem> {
    let mut found = match old {
        Some(old) => rules::problems_of_update(new, old, schema),
        None => rules::problems(new, schema),
    };
    let blocks = |problem: &Problem| BLOCKING.contains(&problem.reason);
    if rules.any() && found.iter().any(blocks) {
        found.push(Problem::new(Reason::Invalid, "", UNCHECKED));
    } else {
        found.extend(rules.problems(schema, new, old));
    }
    found
}

/// What is wrong with a value that rules are not evaluated on.
const BLOCKING: [Reason; 5] = [
    Reason::NotSupported,
    Reason::Required,
    Reason::TooLong,
    Reason::TooMany,
    Reason::TypeInvalid,
];

const UNCHECKED: &str = "null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
