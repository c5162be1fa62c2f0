//! What a defaulter changed, as a JSON patch.
//!
//! Three values are compared: the object as it was sent, and what its type made of it before and after the change. Only
//! what differs between the latter two was changed; what the type does not know is in neither, and stays.

use serde_json::{Map, Value, json};

/// The steps of a JSON patch (RFC 6902) that make the change from `before` to `after` in `raw`.
pub(super) fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Value> {
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

/// Whether each element is still where it was, so that a step for each that changed says all.
fn in_place(before: &[Value], after: &[Value]) -> bool {
    let stays = |(at, source)| source == Some(at);
    before.len() == after.len() && sources(before, after).into_iter().enumerate().all(stays)
}

/// Which element of `before` became each of `after`: an equal one, or else one of the same name, or else, in a list
/// without names, the one in its place; each once.
fn sources(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let mut taken = vec![false; before.len()];
    let mut sources = vec![None; after.len()];
    let mut take = |same: &dyn Fn(usize, usize) -> bool| {
        for (at, source) in sources.iter_mut().enumerate() {
            if source.is_none() {
                *source = (0..before.len()).find(|from| !taken[*from] && same(*from, at));
                if let Some(from) = *source {
                    taken[from] = true;
                }
            }
        }
    };
    // The one in its place first: of two equal ones, neither moves.
    take(&|from, at| from == at && before[from] == after[at]);
    take(&|from, at| before[from] == after[at]);
    take(&|from, at| name(&before[from]).is_some_and(|name| Some(name) == self::name(&after[at])));
    if before.len() == after.len() {
        let nameless = |value| matches!(value, &Value::Object(_)) && name(value).is_none();
        take(&|from, at| from == at && nameless(&before[from]) && nameless(&after[at]));
    }
    sources
}

/// What tells an element from the others of its list, in most lists of Kubernetes.
fn name(element: &Value) -> Option<(&str, &Value)> {
    let names = ["name", "type", "key", "mountPath", "ip"];
    names
        .into_iter()
        .find_map(|key| Some((key, element.get(key)?)))
}

/// A name as a part of a JSON pointer (RFC 6901).
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
    fn what_the_type_does_not_know_stays() {
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
    fn what_the_type_fills_in_by_itself_is_no_change() {
        let (raw, before) = (json!({}), json!({ "a": 1, "b": null, "c": [] }));
        check(&raw, &before, &before, &json!([]));
        let after = json!({ "a": 2, "b": null, "c": [] });
        let steps = json!([{ "op": "add", "path": "/a", "value": 2 }]);
        check(&raw, &before, &after, &steps);
        // Removing what was not there is none either.
        check(&raw, &before, &json!({ "a": 1 }), &json!([]));
    }

    #[test]
    fn names_are_escaped() {
        let steps = json!([{ "op": "add", "path": "/a~1b~0c", "value": 1 }]);
        check(&json!({}), &json!({}), &json!({ "a/b~c": 1 }), &steps);
    }

    #[test]
    fn an_element_of_a_list_keeps_what_the_type_does_not_know() {
        let raw = json!([{ "name": "a", "unknown": 1 }, { "name": "b" }]);
        let before = json!([{ "name": "a" }, { "name": "b" }]);
        let after = json!([{ "name": "a", "image": "x" }, { "name": "b" }]);
        let steps = json!([{ "op": "add", "path": "/0/image", "value": "x" }]);
        check(&raw, &before, &after, &steps);
    }

    #[test]
    fn an_element_that_moved_takes_with_it_what_the_type_does_not_know() {
        let raw = json!({ "l": [{ "name": "a", "unknown": 1 }] });
        let before = json!({ "l": [{ "name": "a" }] });
        let after = json!({ "l": [{ "name": "sidecar" }, { "name": "a", "image": "x" }] });
        let value = json!([{ "name": "sidecar" }, { "name": "a", "unknown": 1, "image": "x" }]);
        let steps = json!([{ "op": "replace", "path": "/l", "value": value }]);
        check(&raw, &before, &after, &steps);
    }

    #[test]
    fn an_element_without_a_name_is_known_by_its_place() {
        let steps = json!([{ "op": "add", "path": "/0/protocol", "value": "TCP" }]);
        check(
            &json!([{ "port": 80, "unknown": 1 }]),
            &json!([{ "port": 80 }]),
            &json!([{ "port": 80, "protocol": "TCP" }]),
            &steps,
        );
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
