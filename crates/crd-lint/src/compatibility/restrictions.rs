//! `allOf`, `anyOf`, `oneOf` and `not`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::pair::Pair;
use super::rule::Break;

const HELP: &str = "if every old value is still valid, allow this finding; else keep the old variants, or change them in a new version";

/// Restrictions that may reject values that were valid.
pub fn changed(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() || pair.keeps_every_value() {
        return;
    }
    for (key, allows) in [
        ("allOf", all_of as fn(&Pair, &Parts, &Parts) -> bool),
        ("anyOf", any_of),
        ("oneOf", one_of),
    ] {
        let (old, new) = pair.both(key);
        let parts = |value: &Value| -> Parts {
            let all = value.as_array().into_iter().flatten().map(undescribed);
            all.map(|part| (part.to_string(), part)).collect()
        };
        let (old, new) = (parts(old), parts(new));
        if !new.is_empty() && !allows(pair, &old, &new) {
            let text = format!("`{key}` may reject values that were valid");
            found.push(Break::new(pair.path(), text, HELP));
        }
    }
    let (old, new) = pair.both("not");
    if !new.is_null() && undescribed(old) != undescribed(new) {
        let text = "`not` may reject values that were valid";
        found.push(Break::new(pair.path(), text, HELP));
    }
}

/// The parts of a restriction, by their text.
type Parts = BTreeMap<String, Value>;

/// Every part was there before.
fn all_of(_: &Pair, old: &Parts, new: &Parts) -> bool {
    new.keys().all(|part| old.contains_key(part))
}

/// Every old variant is still there.
fn any_of(_: &Pair, old: &Parts, new: &Parts) -> bool {
    !old.is_empty() && old.keys().all(|variant| new.contains_key(variant))
}

/// Every old variant is still there, and no old value matches another one, because each new variant requires a field that is new.
fn one_of(pair: &Pair, old: &Parts, new: &Parts) -> bool {
    let added = || new.iter().filter(|(text, _)| !old.contains_key(*text));
    let needs_new_field = |variant: &Value| {
        let required = variant["required"].as_array().into_iter().flatten();
        let mut names = required.filter_map(Value::as_str);
        names.any(|name| pair.old["properties"][name].is_null())
    };
    any_of(pair, old, new) && added().all(|(_, variant)| needs_new_field(variant))
}

/// A schema without its descriptions.
fn undescribed(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .filter(|(key, value)| *key != "description" || value.is_object())
            .map(|(key, value)| (key.clone(), undescribed(value)))
            .collect(),
        Value::Array(items) => items.iter().map(undescribed).collect(),
        other => other.clone(),
    }
}
