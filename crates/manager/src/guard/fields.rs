//! The fields in which two objects differ, and who manages them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

/// Metadata that the API server sets.
const NOT_WRITTEN: [&str; 5] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// The fields in which two values differ, such as `spec.replicas` or `status.conditions[Ready].message`. A missing field and
/// `null` are the same.
pub(crate) fn changed(old: &Value, new: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    differ("", old, new, &mut found);
    let metadata = |name: &str| format!("metadata.{name}");
    for name in NOT_WRITTEN.iter().map(|name| metadata(name)) {
        found.remove(&name);
    }
    found
}

/// The same of two objects; `None` if they cannot be compared.
pub(crate) fn between<T: Serialize>(old: &T, new: &T) -> Option<BTreeSet<String>> {
    let (old, new) = (serde_json::to_value(old), serde_json::to_value(new));
    Some(changed(&old.ok()?, &new.ok()?))
}

fn differ(path: &str, old: &Value, new: &Value, found: &mut BTreeSet<String>) {
    if old == new {
        return;
    }
    let none = Map::new();
    match (old, new) {
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            let (old, new) = (
                old.as_object().unwrap_or(&none),
                new.as_object().unwrap_or(&none),
            );
            let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
            for name in names {
                let of =
                    |object: &Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                differ(&below(path, name), &of(old), &of(new), found);
            }
        }
        (Value::Array(before), Value::Array(after)) => match (by_name(before), by_name(after)) {
            (Some(before), Some(after)) => {
                let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
                for name in names {
                    let of = |list: &BTreeMap<&str, &Value>| {
                        list.get(*name)
                            .map_or(Value::Null, |value| (*value).clone())
                    };
                    differ(&format!("{path}[{name}]"), &of(&before), &of(&after), found);
                }
            }
            _ => drop(found.insert(path.to_owned())),
        },
        _ => drop(found.insert(path.to_owned())),
    }
}

fn below(path: &str, name: &str) -> String {
    if name.contains(['.', '/', '[']) {
        format!("{path}[{name}]")
    } else if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The elements of a list by their `type` or `name`, if all have one and no two share it.
fn by_name(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let name = |value: &Value, field: &str| value.get(field).map(Value::is_string);
    for field in ["type", "name"] {
        if !list.iter().all(|value| name(value, field) == Some(true)) {
            continue;
        }
        let named = list
            .iter()
            .filter_map(|value| Some((value[field].as_str()?, value)));
        let named: BTreeMap<_, _> = named.collect();
        return (named.len() == list.len()).then_some(named);
    }
    list.is_empty().then(BTreeMap::new)
}

/// What `value` has of the fields in `mask`. Lists are taken as a whole.
pub(crate) fn within(value: &Value, mask: &Value) -> Value {
    let (Value::Object(fields), Value::Object(mask)) = (value, mask) else {
        return value.clone();
    };
    let kept = mask
        .iter()
        .filter_map(|(name, mask)| Some((name.clone(), within(fields.get(name)?, mask))));
    Value::Object(kept.collect())
}

/// The field manager other than `ours` that last wrote a field of `object`, as far as the path to it leads through no list.
pub(crate) fn manager_of(object: &Value, field: &str, ours: &str) -> Option<String> {
    let path = field.split('[').next().unwrap_or_default();
    let key = field
        .strip_prefix(path)
        .and_then(|rest| rest.strip_prefix('['))
        .and_then(|rest| rest.split(']').next());
    let entries = object["metadata"]["managedFields"].as_array()?;
    let owns = |entry: &&Value| {
        let mut set = &entry["fieldsV1"];
        for name in path.split('.') {
            set = &set[format!("f:{name}")];
        }
        let is_map = key.is_none_or(|key| {
            // The key of a map, or anything in a list.
            set.get(format!("f:{key}")).is_some() || has_elements(set)
        });
        !set.is_null() && is_map && entry["manager"] != ours
    };
    let latest = entries
        .iter()
        .filter(owns)
        .max_by_key(|entry| entry["time"].as_str());
    latest?["manager"].as_str().map(str::to_owned)
}

/// Whether a set of fields has elements of a list, or is a list as a whole.
fn has_elements(set: &Value) -> bool {
    set.as_object()
        .is_some_and(|set| set.is_empty() || set.keys().any(|name| name.starts_with("k:")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn between(old: &Value, new: &Value) -> Vec<String> {
        changed(old, new).into_iter().collect()
    }

    #[test]
    fn fields_that_differ_are_named_by_their_path() {
        assert_eq!(
            between(
                &json!({"spec": {"replicas": 1, "a": {"b": 1}, "same": [1]}, "data": {"at": "1"}}),
                &json!({"spec": {"replicas": 2, "same": [1], "new": null}, "data": {"at": "2"}}),
            ),
            ["data.at", "spec.a.b", "spec.replicas"]
        );
        let annotated = |at: &str| json!({"metadata": {"annotations": {"example.com/at": at}}});
        assert_eq!(
            between(&annotated("1"), &annotated("2")),
            ["metadata.annotations[example.com/at]"]
        );
        let versions = |it: &str| json!({"metadata": {"resourceVersion": it, "generation": it}});
        assert_eq!(between(&versions("1"), &versions("2")), [""; 0]);
    }

    #[test]
    fn elements_of_lists_are_named_by_their_type_or_name() {
        let status = |message: &str| {
            json!({"status": {"conditions": [
                {"type": "Ready", "message": message}, {"type": "Other", "message": "same"},
            ], "hosts": [message]}})
        };
        assert_eq!(
            between(&status("1"), &status("2")),
            ["status.conditions[Ready].message", "status.hosts"]
        );
    }

    #[test]
    fn only_the_fields_of_a_mask_count() {
        let object = json!({"spec": {"a": 1, "b": 2}, "status": {"c": 3}});
        let mask = json!({"spec": {"a": 5, "d": 6}});
        assert_eq!(within(&object, &mask), json!({"spec": {"a": 1}}));
    }

    #[test]
    fn the_other_manager_of_a_field_is_the_last_that_wrote_it() {
        let entry = |manager: &str, time: &str, fields: Value| json!({"manager": manager, "time": time, "fieldsV1": fields});
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let object = json!({"metadata": {"managedFields": [
            entry("ours", "3", replicas.clone()),
            entry("old", "1", replicas.clone()),
            entry("new", "2", replicas),
            entry("label", "4", json!({"f:metadata": {"f:labels": {"f:a/b": {}}}})),
        ]}});
        let of = |field| manager_of(&object, field, "ours");
        assert_eq!(of("spec.replicas").as_deref(), Some("new"));
        assert_eq!(of("metadata.labels[a/b]").as_deref(), Some("label"));
        assert_eq!(of("metadata.labels[c]"), None);
        assert_eq!(of("data.at"), None);
    }
}
