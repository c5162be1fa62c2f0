//! YAML as Go projects have it.

use kbr_host::yaml::Budget;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A list, or one text instead of it.
pub fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(match OneOrMore::deserialize(from)? {
        OneOrMore::One(one) => vec![one],
        OneOrMore::More(more) => more,
    })
}

/// The items of a list; none of another value.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text; empty for another value.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The documents of a file; none if it is not YAML.
pub fn documents(text: &str, budget: &mut Budget) -> Vec<Value> {
    budget.documents(text).unwrap_or_default()
}
