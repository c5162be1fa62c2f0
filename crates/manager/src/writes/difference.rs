//! The difference between two JSON values, which can be applied to a third.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A change, as a JSON merge patch (RFC 7396) can make it: a field that is `null` counts as a missing one, and `{}`, `[]` and a
/// missing field are three things.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// Another value, which is not an object; `null` to remove it.
    Set(Value),
    /// Changes of some fields of an object. What was not an object becomes one, perhaps without fields.
    Fields(BTreeMap<String, Difference>),
    /// Changes of some conditions by their `type`; `None` for a removed one.
    ByType(Vec<(String, Option<Value>)>),
}

/// The change from `old` to `new`; `None` if they are equal.
///
/// `conditions` are the paths of the lists that are maps by `type`, so that the order of their elements has no meaning. Any
/// other list is a value as a whole.
pub(crate) fn difference(old: &Value, new: &Value, conditions: &[&[String]]) -> Option<Difference> {
    match (old, new) {
        (_, Value::Object(new)) => fields(old.as_object(), new, conditions),
        (Value::Array(_) | Value::Null, Value::Array(list))
            if conditions.iter().any(|path| path.is_empty()) =>
        {
            let before = old.as_array().map(Vec::as_slice).unwrap_or_default();
            match by_type(before, list) {
                // There is no list yet, so an empty one is new.
                Some(changed) if changed.is_empty() && old.is_null() => {
                    Some(Difference::Set(new.clone()))
                }
                Some(changed) => (!changed.is_empty()).then_some(Difference::ByType(changed)),
                None => (old != new).then(|| Difference::Set(new.clone())),
            }
        }
        _ => (old != new).then(|| Difference::Set(new.clone())),
    }
}

fn fields(
    old: Option<&Map<String, Value>>,
    new: &Map<String, Value>,
    conditions: &[&[String]],
) -> Option<Difference> {
    let (mut changed, none) = (BTreeMap::new(), Map::new());
    let (is_new, old) = (old.is_none(), old.unwrap_or(&none));
    for (name, value) in new {
        let old = old.get(name).unwrap_or(&Value::Null);
        if let Some(difference) = difference(old, value, &below(conditions, name)) {
            changed.insert(name.clone(), difference);
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        changed.insert(name.clone(), Difference::Set(Value::Null));
    }
    (is_new || !changed.is_empty()).then_some(Difference::Fields(changed))
}

/// The rest of each path that begins with this field.
fn below<'a>(paths: &[&'a [String]], field: &str) -> Vec<&'a [String]> {
    let split = paths.iter().filter_map(|path| path.split_first());
    let here = split.filter(|(first, _)| *first == field);
    here.map(|(_, rest)| rest).collect()
}

/// The changed elements; `None` if the lists are no maps.
fn by_type(old: &[Value], new: &[Value]) -> Option<Vec<(String, Option<Value>)>> {
    let (old, new) = (typed(old)?, typed(new)?);
    let changed = new.iter().filter(|one| !old.contains(one));
    let changed = changed.map(|(kind, value)| ((*kind).to_owned(), Some((*value).clone())));
    let is_gone = |kind: &str| !new.iter().any(|(other, _)| *other == kind);
    let removed = old.iter().filter(|(kind, _)| is_gone(kind));
    let removed = removed.map(|(kind, _)| ((*kind).to_owned(), None));
    Some(changed.chain(removed).collect())
}

/// The elements and their `type`s; `None` if one of them is not a condition, or two share a type.
fn typed(list: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let typed = list.iter().map(|value| {
        // Kubernetes' own is a text, that of an author may be a boolean.
        value.get("status")?;
        Some((value["type"].as_str()?, value))
    });
    let typed: Vec<_> = typed.collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = typed.iter().map(|(kind, _)| kind).collect();
    (distinct.len() == typed.len()).then_some(typed)
}

impl Difference {
    /// Makes the same changes to `value`.
    pub(crate) fn apply(&self, value: &mut Value) {
        match self {
            Self::Set(new) => value.clone_from(new),
            Self::Fields(fields) => {
                let object = as_object(value);
                for (name, difference) in fields {
                    if *difference == Self::Set(Value::Null) {
                        object.remove(name);
                    } else {
                        difference.apply(object.entry(name.clone()).or_insert(Value::Null));
                    }
                }
            }
            Self::ByType(elements) => {
                let list = as_list(value);
                for (kind, new) in elements {
                    let at = list.iter().position(|old| old["type"] == **kind);
                    match (at, new) {
                        (Some(at), Some(new)) => list[at].clone_from(new),
                        (None, Some(new)) => list.push(new.clone()),
                        (Some(at), None) => drop(list.remove(at)),
                        (None, None) => {}
                    }
                }
            }
        }
    }

    /// Whether this change of `old` replaces or removes lists, or elements of them. A patch contains each in full, so whoever
    /// does not know all of its elements would delete some.
    pub(crate) fn has_lists(&self, old: &Value) -> bool {
        match self {
            Self::Set(new) => old.is_array() || new.is_array(),
            Self::Fields(fields) => fields
                .iter()
                .any(|(name, field)| field.has_lists(old.get(name).unwrap_or(&Value::Null))),
            Self::ByType(_) => true,
        }
    }

    /// The JSON merge patch (RFC 7396) that makes the same changes to `old`.
    ///
    /// A merge patch can only replace lists as a whole, so it contains every changed list in full.
    pub(crate) fn patch(&self, old: &Value) -> Value {
        match self {
            Self::Set(new) => new.clone(),
            Self::Fields(fields) => {
                let patch = |(name, difference): (&String, &Self)| {
                    (
                        name.clone(),
                        difference.patch(old.get(name).unwrap_or(&Value::Null)),
                    )
                };
                Value::Object(fields.iter().map(patch).collect())
            }
            Self::ByType(_) => {
                let mut list = old.clone();
                self.apply(&mut list);
                list
            }
        }
    }
}

/// `value` as an object; any other value is replaced by an empty one.
fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    // It is an object now, so the default is never created.
    match value {
        Value::Object(object) => object,
        _ => unreachable!("made an object above"),
    }
}

/// `value` as a list; any other value is replaced by an empty one.
fn as_list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("made a list above"),
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
