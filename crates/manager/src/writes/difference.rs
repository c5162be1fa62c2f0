//! The difference between two JSON values, which can be applied to a third.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A change. `null` and a missing field count as the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// Another value; `null` to remove it.
    Set(Value),
    /// Changes of some fields of an object.
    Fields(BTreeMap<String, Difference>),
    /// Changes of some elements of a list that is keyed by `type`, such as conditions; `None` for a removed element.
    ByType(Vec<(String, Option<Value>)>),
}

/// The change from `old` to `new`; `None` if they are equal.
pub(crate) fn difference(old: &Value, new: &Value) -> Option<Difference> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => fields(old, new),
        (Value::Null, Value::Object(new)) => fields(&Map::new(), new),
        (Value::Array(old_list), Value::Array(new_list)) if old != new => {
            Some(by_type(old_list, new_list).unwrap_or_else(|| Difference::Set(new.clone())))
        }
        (Value::Null, Value::Array(new)) => {
            by_type(&[], new).or(Some(Difference::Set(new.clone().into())))
        }
        _ => (old != new).then(|| Difference::Set(new.clone())),
    }
}

fn fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Difference> {
    let mut changed = BTreeMap::new();
    for (name, value) in new {
        if let Some(difference) = difference(old.get(name).unwrap_or(&Value::Null), value) {
            changed.insert(name.clone(), difference);
        }
    }
    for (name, value) in old {
        if !value.is_null() && !new.contains_key(name) {
            changed.insert(name.clone(), Difference::Set(Value::Null));
        }
    }
    (!changed.is_empty()).then_some(Difference::Fields(changed))
}

fn by_type(old: &[Value], new: &[Value]) -> Option<Difference> {
    let (old, new) = (keyed(old)?, keyed(new)?);
    let mut changed: Vec<_> = new
        .iter()
        .filter(|(kind, value)| old.get(*kind) != Some(value))
        .map(|(kind, value)| ((*kind).to_owned(), Some((*value).clone())))
        .collect();
    let removed = old.keys().filter(|kind| !new.contains_key(*kind));
    changed.extend(removed.map(|kind| ((*kind).to_owned(), None)));
    Some(Difference::ByType(changed))
}

/// The elements by their `type`; `None` if an element has no type, or two share one.
fn keyed(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let keyed: Option<BTreeMap<_, _>> = list
        .iter()
        .map(|value| Some((value.get("type")?.as_str()?, value)))
        .collect();
    keyed.filter(|keyed| keyed.len() == list.len())
}

impl Difference {
    /// Makes the same changes to `value`.
    pub(crate) fn apply(&self, value: &mut Value) {
        match self {
            Self::Set(new) => value.clone_from(new),
            Self::Fields(fields) => {
                let object = as_object(value);
                for (name, difference) in fields {
                    difference.apply(object.entry(name.clone()).or_insert(Value::Null));
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

    /// Whether the patch contains lists of which only some elements change.
    pub(crate) fn is_of_elements(&self) -> bool {
        match self {
            Self::Set(_) => false,
            Self::Fields(fields) => fields.values().any(Self::is_of_elements),
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
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(old: &Value, new: &Value, patch: &Value) {
        let found = difference(old, new).expect("they differ");
        assert_eq!(found.patch(old), *patch);
        let mut made = old.clone();
        found.apply(&mut made);
        assert_eq!(difference(&made, new), None);
    }

    #[test]
    fn equal_values_have_no_difference() {
        for value in [json!({}), json!({"a": [1]}), json!(null)] {
            assert_eq!(difference(&value, &value), None);
        }
    }

    #[test]
    fn a_missing_field_is_null() {
        assert_eq!(difference(&json!({}), &json!({"a": null})), None);
        assert_eq!(difference(&json!({"a": null}), &json!({})), None);
        assert_eq!(difference(&json!(null), &json!({"a": null})), None);
    }

    #[test]
    fn the_patch_contains_only_changed_fields() {
        check(
            &json!({"a": 1, "b": 2}),
            &json!({"a": 1, "b": 3}),
            &json!({"b": 3}),
        );
        check(
            &json!({"a": {"x": 1, "y": 2}}),
            &json!({"a": {"x": 1, "y": 3}}),
            &json!({"a": {"y": 3}}),
        );
    }

    #[test]
    fn a_removed_field_is_null_in_the_patch() {
        check(
            &json!({"a": 1, "b": 2}),
            &json!({"a": 1}),
            &json!({"b": null}),
        );
    }

    #[test]
    fn the_first_status_is_sent_in_full() {
        check(
            &json!(null),
            &json!({"a": {"b": 1}}),
            &json!({"a": {"b": 1}}),
        );
    }

    #[test]
    fn an_ordinary_list_is_replaced() {
        check(
            &json!({"a": [1, 2]}),
            &json!({"a": [1]}),
            &json!({"a": [1]}),
        );
    }

    #[test]
    fn conditions_of_several_writers_are_merged_by_type() {
        let old = json!({"conditions": [{"type": "Ready", "status": "False"}, {"type": "Old"}]});
        let new = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        let found = difference(&old, &new).unwrap();
        let mut theirs = json!({"conditions": [
            {"type": "Old"}, {"type": "Theirs", "status": "True"}, {"type": "Ready", "status": "False"},
        ]});
        assert_eq!(
            found.patch(&theirs),
            json!({"conditions": [
                {"type": "Theirs", "status": "True"}, {"type": "Ready", "status": "True"},
            ]})
        );
        found.apply(&mut theirs);
        assert_eq!(theirs["conditions"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn conditions_of_an_empty_status_are_kept_by_type() {
        check(
            &json!({}),
            &json!({"conditions": [{"type": "Ready"}]}),
            &json!({"conditions": [{"type": "Ready"}]}),
        );
    }
}
