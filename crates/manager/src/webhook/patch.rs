//! Turns the changes of a defaulter into a JSON patch.
//!
//! Three values are compared: the object as it was sent, and the object as its type serializes it before and after the
//! change. A difference between the latter two is a change. Fields that the type does not know are in neither, and
//! stay.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, from_str, json};

use super::text;

/// The steps of a JSON patch (RFC 6902) that apply the change from `before` to `after` to `raw`, all as text. Fields that
/// are written alike before and after, mostly the larger ones, are not parsed.
pub(super) fn changes(raw: &str, before: &str, after: &str) -> serde_json::Result<Vec<Value>> {
    if before == after {
        return Ok(Vec::new());
    }
    let [raw, before, after] = changed([Some(raw), Some(before), Some(after)])?;
    let value = Option::unwrap_or_default;
    Ok(patch(&value(raw), &value(before), &value(after)))
}

/// The three values, without the fields that are written alike in the last two.
fn changed(texts: [Option<&str>; 3]) -> serde_json::Result<[Option<Value>; 3]> {
    let is_object = |text: Option<&str>| text.is_some_and(|text| text.starts_with('{'));
    if !texts.into_iter().all(is_object) {
        let [raw, before, after] = texts.map(|text| text.map(from_str).transpose());
        return Ok([raw?, before?, after?]);
    }
    let objects = texts.map(|text| text::fields(text.unwrap_or_default()));
    let names: BTreeSet<_> = objects[1].keys().chain(objects[2].keys()).collect();
    let mut maps: [Map<_, _>; 3] = Default::default();
    for name in names {
        let texts = [0, 1, 2].map(|at| objects[at].get(name).map(|field| field.value));
        if texts[1] == texts[2] {
            continue;
        }
        for (map, value) in maps.iter_mut().zip(changed(texts)?) {
            map.extend(value.map(|value| (name.to_string(), value)));
        }
    }
    Ok(maps.map(|map| Some(Value::Object(map))))
}

/// Like [`changes`], for values.
fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Value> {
    let mut steps = Vec::new();
    compare(raw, before, after, "", &mut steps);
    steps
}

fn compare(raw: &Value, before: &Value, after: &Value, path: &str, steps: &mut Vec<Value>) {
    if before == after {
        return;
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            fields(raw, before, after, path, steps);
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() && in_place(before, after) =>
        {
            for (at, after) in after.iter().enumerate() {
                compare(&raw[at], &before[at], after, &format!("{path}/{at}"), steps);
            }
        }
        _ => {
            let value = merged(raw, before, after);
            if *raw != value {
                steps.push(json!({ "op": "replace", "path": path, "value": value }));
            }
        }
    }
}

fn fields(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    path: &str,
    steps: &mut Vec<Value>,
) {
    for (name, after) in after {
        let before = before.get(name).unwrap_or(&Value::Null);
        if before == after {
            continue;
        }
        let path = format!("{path}/{}", escaped(name));
        match raw.get(name) {
            Some(raw) => compare(raw, before, after, &path, steps),
            None => steps.push(json!({ "op": "add", "path": path, "value": after })),
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) && raw.contains_key(name) {
            let path = format!("{path}/{}", escaped(name));
            steps.push(json!({ "op": "remove", "path": path }));
        }
    }
}

/// `raw` with the change from `before` to `after`.
fn merged(raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            let mut merged_fields = raw.clone();
            merged_fields.retain(|name, _| after.contains_key(name) || !before.contains_key(name));
            for (name, after) in after {
                let before = before.get(name).unwrap_or(&Value::Null);
                if before == after {
                    continue;
                }
                let raw = raw.get(name).unwrap_or(&Value::Null);
                merged_fields.insert(name.clone(), merged(raw, before, after));
            }
            Value::Object(merged_fields)
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() =>
        {
            let sources = sources(before, after);
            let element = |(value, source): (&Value, Option<usize>)| match source {
                Some(at) => merged(&raw[at], &before[at], value),
                None => value.clone(),
            };
            Value::Array(after.iter().zip(sources).map(element).collect())
        }
        _ => after.clone(),
    }
}

/// Whether each element is still at its index, so that one step for each changed element is enough.
fn in_place(before: &[Value], after: &[Value]) -> bool {
    let stays = |(at, source)| source == Some(at);
    before.len() == after.len() && sources(before, after).into_iter().enumerate().all(stays)
}

/// For each element of `after`, the index in `before` that it comes from: an equal element, or else one with the same
/// name, or else, in a list without names, the one at the same index. Each index is used once.
fn sources(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let mut taken = vec![false; before.len()];
    let mut sources = vec![None; after.len()];
    // Look elements up by their JSON text, because the sender of an object decides how long its lists are.
    let mut take = |written: &dyn Fn(usize, &Value) -> Option<String>| {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (from, value) in before.iter().enumerate().rev() {
            if let Some(text) = (!taken[from]).then(|| written(from, value)).flatten() {
                places.entry(text).or_default().push(from);
            }
        }
        for (at, value) in after.iter().enumerate() {
            let place = || places.get_mut(&written(at, value)?)?.pop();
            if let Some(from) = sources[at].is_none().then(place).flatten() {
                sources[at] = Some(from);
                taken[from] = true;
            }
        }
    };
    // Prefer the element at the same index: of two equal elements, neither moves.
    take(&|at, value| Some(format!("{at} {value}")));
    take(&|_, value| Some(value.to_string()));
    take(&|_, value| name(value).map(|(key, name)| format!("{key} {name}")));
    if before.len() == after.len() {
        let nameless = |value: &Value| value.is_object() && name(value).is_none();
        take(&|at, value| nameless(value).then(|| at.to_string()));
    }
    sources
}

/// The field that identifies an element in most lists of Kubernetes.
fn name(element: &Value) -> Option<(&str, &Value)> {
    let names = ["name", "type", "key", "mountPath", "ip"];
    names
        .into_iter()
        .find_map(|key| Some((key, element.get(key)?)))
}

/// Escapes a name for use in a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &Value, before: &Value, after: &Value, steps: &Value) {
        let patch = Value::Array(patch(raw, before, after));
        assert_eq!(patch, *steps);
    }

    #[test]
    fn unknown_fields_are_kept() {
        let raw = json!({ "a": 1, "unknown": true, "in": { "b": 1, "unknown": 1 } });
        let before = json!({ "a": 1, "in": { "b": 1 } });
        let after = json!({ "a": 2, "in": { "c": 1 } });
        let steps = json!([
            { "op": "replace", "path": "/a", "value": 2 },
            { "op": "add", "path": "/in/c", "value": 1 },
            { "op": "remove", "path": "/in/b" },
        ]);
        check(&raw, &before, &after, &steps);
        check(&raw, &before, &before, &json!([]));
    }

    #[test]
    fn fields_that_are_written_alike_are_skipped() {
        // What cannot be parsed shows that it is not.
        let raw =
            r#"{"a":[1],"b":{"unknown":1e999},"c":"d","in":{"a":1,"big":1e999},"unknown":1e999}"#;
        let before = r#"{"a":[1],"b":{"x":1e999},"c":"d","in":{"a":1,"x":1e999}}"#;
        let after = r#"{"a":[2],"b":{"x":1e999},"e":1,"in":{"a":2,"x":1e999}}"#;
        let steps = json!([
            { "op": "replace", "path": "/a", "value": [2] },
            { "op": "add", "path": "/e", "value": 1 },
            { "op": "replace", "path": "/in/a", "value": 2 },
            { "op": "remove", "path": "/c" },
        ]);
        assert_eq!(Value::Array(changes(raw, before, after).unwrap()), steps);
        assert!(changes(raw, before, before).unwrap().is_empty());
        assert!(changes(raw, before, r#"{"a":1e999}"#).is_err());
    }

    #[test]
    fn values_filled_in_by_the_type_are_not_a_change() {
        let (raw, before) = (json!({}), json!({ "a": 1, "b": null, "c": [] }));
        check(&raw, &before, &before, &json!([]));
        let after = json!({ "a": 2, "b": null, "c": [] });
        let steps = json!([{ "op": "add", "path": "/a", "value": 2 }]);
        check(&raw, &before, &after, &steps);
        // Removing a field that was not there is not a change, either.
        check(&raw, &before, &json!({ "a": 1 }), &json!([]));
    }

    #[test]
    fn names_are_escaped() {
        let steps = json!([{ "op": "add", "path": "/a~1b~0c", "value": 1 }]);
        check(&json!({}), &json!({}), &json!({ "a/b~c": 1 }), &steps);
    }

    #[test]
    fn a_list_element_keeps_its_unknown_fields() {
        let raw = json!([{ "name": "a", "unknown": 1 }, { "name": "b" }]);
        let before = json!([{ "name": "a" }, { "name": "b" }]);
        let after = json!([{ "name": "a", "image": "x" }, { "name": "b" }]);
        let steps = json!([{ "op": "add", "path": "/0/image", "value": "x" }]);
        check(&raw, &before, &after, &steps);
    }

    #[test]
    fn a_moved_list_element_keeps_its_unknown_fields() {
        let raw = json!({ "l": [{ "name": "a", "unknown": 1 }] });
        let before = json!({ "l": [{ "name": "a" }] });
        let after = json!({ "l": [{ "name": "sidecar" }, { "name": "a", "image": "x" }] });
        let value = json!([{ "name": "sidecar" }, { "name": "a", "unknown": 1, "image": "x" }]);
        let steps = json!([{ "op": "replace", "path": "/l", "value": value }]);
        check(&raw, &before, &after, &steps);
    }

    #[test]
    fn a_list_element_without_a_name_is_matched_by_index() {
        let steps = json!([{ "op": "add", "path": "/0/protocol", "value": "TCP" }]);
        check(
            &json!([{ "port": 80, "unknown": 1 }]),
            &json!([{ "port": 80 }]),
            &json!([{ "port": 80, "protocol": "TCP" }]),
            &steps,
        );
    }

    #[test]
    fn a_list_of_100_000_elements_is_compared_quickly() {
        let element = |at: usize| json!({ "name": at.to_string() });
        let before: Value = (0..100_000).map(element).collect();
        let after: Value = (1..100_001).rev().map(element).collect();
        let steps = patch(&before, &before, &after);
        assert_eq!(steps[0]["value"], after);
    }

    #[test]
    fn a_list_of_plain_values_is_replaced_as_a_whole() {
        let steps = json!([{ "op": "replace", "path": "/l", "value": [1, 3] }]);
        check(
            &json!({ "l": [1, 2] }),
            &json!({ "l": [1, 2] }),
            &json!({ "l": [1, 3] }),
            &steps,
        );
    }
}
