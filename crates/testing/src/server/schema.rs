//! What the API server rejects of an object by the schema of its definition: the rules of `apiserver-rules`, and what is not evaluated.
//! Without the feature `cel`, rules in CEL are not.

use std::sync::Arc;

use apiserver_rules::{self as rules, Problem, Reason};
use serde_json::Value;

use crate::unevaluated::Unevaluated;

/// The rules in CEL of a schema. Clones share what is known of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    compiled: Option<Arc<rules::Rules>>,
    unevaluated: Unevaluated,
}

impl Rules {
    pub(crate) fn of(schema: &Value) -> Self {
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
    #[cfg(feature = "simulate")]
    pub(crate) fn accept(&self, schema: &Value, new: &Value, old: &Value) -> bool {
        let rules = self.compiled.as_ref();
        rules.is_none_or(|rules| rules.judge(schema, new, Some(old)) == rules::Judgement::default())
    }

    /// The rules that could not be evaluated.
    #[cfg(any(feature = "cel", feature = "simulate"))]
    pub(crate) fn unevaluated(&self) -> Vec<String> {
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

/// A note about what a definition demands and is not checked here.
#[cfg(feature = "simulate")]
pub(crate) fn unchecked(crd: &Value) -> Option<String> {
    const HELP: &str = "; to evaluate rules, write in Cargo.toml: `kbr-testing = { workspace = true, features = [\"simulate\", \"cel\"] }`";
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let schemas = versions.map(|version| &version["schema"]["openAPIV3Schema"]);
    let (mut rules, mut patterns) = (0, Vec::new());
    schemas.for_each(|schema| find_unchecked(schema, &mut rules, &mut patterns));
    let mut parts = Vec::new();
    let counts = rules > 0 && cfg!(not(feature = "cel"));
    if counts {
        parts.push(format!("rules in CEL ({rules})"));
    }
    if !patterns.is_empty() {
        parts.push(format!("the patterns {}", patterns.join(", ")));
    }
    let help = if counts { HELP } else { "" };
    let what = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("{what} of {name} are not evaluated{help}"))
}

#[cfg(feature = "simulate")]
fn find_unchecked(schema: &Value, rules: &mut usize, patterns: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let count = schema["x-kubernetes-validations"].as_array().map(Vec::len);
            *rules += count.unwrap_or_default();
            let pattern = schema["pattern"].as_str();
            patterns.extend(
                pattern
                    .filter(|it| rules::re2::matches(it, "").is_none())
                    .map(str::to_owned),
            );
            let below = fields.iter().filter(|(name, _)| *name != "default");
            below.for_each(|(_, schema)| find_unchecked(schema, rules, patterns));
        }
        Value::Array(all) => all
            .iter()
            .for_each(|schema| find_unchecked(schema, rules, patterns)),
        _ => {}
    }
}

#[cfg(all(test, feature = "simulate"))]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_checked_is_counted() {
        let crd = |schema: Value| json!({"metadata": {"name": "a"}, "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let checked = json!({"properties": {"a": {"pattern": "^a$", "format": "ipv4"}}});
        assert_eq!(unchecked(&crd(checked)), None);
        let rules = json!([{"rule": "self.a > 1"}, {"rule": "self.b"}]);
        let schema = json!({
            "x-kubernetes-validations": rules,
            "properties": {"a": {"items": {"pattern": "(?=a)", "x-kubernetes-validations": rules}}},
        });
        let found = unchecked(&crd(schema)).unwrap_or_default();
        let expected = if cfg!(feature = "cel") {
            "the patterns (?=a) of a are not evaluated"
        } else {
            "rules in CEL (4) and the patterns (?=a) of a are not evaluated; to evaluate rules, "
        };
        assert!(found.starts_with(expected), "{found}");
    }
}
