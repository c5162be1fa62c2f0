//! Changes what is stored of an object that a controller does not know whole: its type may lack fields, and the transform of
//! its cache may drop some, or elements of lists.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::webhook::patch;

/// `stored` with the change from `seen` to `wanted`, where `seen` is what the controller knows of it. What else is stored stays.
/// `null` and a missing field are the same.
pub(crate) fn carried(stored: &Value, seen: &Value, wanted: &Value) -> Value {
    if seen == wanted {
        return stored.clone();
    }
    match (stored, seen, wanted) {
        (Value::Object(stored), Value::Object(_) | Value::Null, Value::Object(wanted)) => {
            fields(stored, seen, wanted).into()
        }
        (Value::Array(stored), Value::Array(_) | Value::Null, Value::Array(wanted)) => {
            elements(stored, seen, wanted).into()
        }
        // A type may write an empty list as a missing one.
        (Value::Array(stored), Value::Array(_), Value::Null) => {
            let left = elements(stored, seen, &[]);
            if left.is_empty() {
                Value::Null
            } else {
                left.into()
            }
        }
        _ => wanted.clone(),
    }
}

fn fields(
    stored: &Map<String, Value>,
    seen: &Value,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    let mut changed = stored.clone();
    let seen_names = seen.as_object().into_iter().flat_map(Map::keys);
    for name in seen_names.chain(wanted.keys()) {
        let of = |object: &Map<String, Value>| object.get(name).cloned().unwrap_or_default();
        match carried(&of(stored), &seen[name], &of(wanted)) {
            Value::Null => changed.remove(name),
            value => changed.insert(name.clone(), value),
        };
    }
    changed
}

/// The wanted elements, each with what else is stored of it. Those that the controller does not know stay behind the element that
/// they follow in the stored list.
fn elements(stored: &[Value], seen: &Value, wanted: &[Value]) -> Vec<Value> {
    let seen = seen.as_array().map_or(&[][..], Vec::as_slice);
    let origins: Vec<_> = if stored.len() == seen.len() {
        (0..seen.len()).map(Some).collect()
    } else {
        sources(stored, seen)
    };
    let places: Vec<_> = sources(seen, wanted)
        .into_iter()
        .map(|source| source.and_then(|at| Some((origins[at]?, at))))
        .collect();
    let kept: HashSet<_> = places.iter().flatten().map(|(origin, _)| *origin).collect();
    let known: HashSet<_> = origins.iter().flatten().copied().collect();
    let (mut others, mut last): (HashMap<_, Vec<_>>, _) = (HashMap::new(), None);
    for (at, value) in stored.iter().enumerate() {
        if kept.contains(&at) {
            last = Some(at);
        } else if !known.contains(&at) {
            others.entry(last).or_default().push(value.clone());
        }
    }
    let mut all = others.remove(&None).unwrap_or_default();
    for (value, place) in wanted.iter().zip(places) {
        let Some((origin, at)) = place else {
            all.push(value.clone());
            continue;
        };
        all.push(carried(&stored[origin], &seen[at], value));
        all.extend(others.remove(&Some(origin)).unwrap_or_default());
    }
    all
}

/// For each element of `after`, the index in `before` that it comes from.
fn sources(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let texts = |list: &[Value]| list.iter().map(Value::to_string).collect::<Vec<_>>();
    let (before, after) = (texts(before), texts(after));
    let before: Vec<_> = before.iter().map(String::as_str).collect();
    let after: Vec<_> = after.iter().map(String::as_str).collect();
    patch::sources(&before, &after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(stored: &Value, seen: &Value, wanted: &Value, changed: &Value) {
        assert_eq!(carried(stored, seen, wanted), *changed);
    }

    #[test]
    fn what_the_controller_does_not_know_stays() {
        check(
            &json!({"a": 1, "newer": 2, "in": {"b": 1, "newer": {}}, "dropped": {"c": 1}}),
            &json!({"a": 1, "in": {"b": 1}}),
            &json!({"a": 3, "in": {}, "dropped": {"d": 4}, "new": {}}),
            &json!({"a": 3, "newer": 2, "in": {"newer": {}}, "dropped": {"c": 1, "d": 4}, "new": {}}),
        );
    }

    #[test]
    fn elements_that_the_cache_has_dropped_stay_where_they_are() {
        let (a, b, c) = (
            json!({"name": "a", "x": 1}),
            json!({"name": "b", "x": 2}),
            json!({"name": "c"}),
        );
        let stored = json!([a, b]);
        for (seen, wanted, changed) in [
            (
                json!([{"name": "b"}]),
                json!([{"name": "b"}, c]),
                json!([a, b, c]),
            ),
            (
                json!([{"name": "b"}]),
                json!([{"name": "b", "y": 3}]),
                json!([a, {"name": "b", "x": 2, "y": 3}]),
            ),
            (json!([{"name": "b"}]), json!([]), json!([a])),
            (json!([{"name": "b"}]), json!(null), json!([a])),
            (
                json!([{"name": "a"}]),
                json!([c, {"name": "a"}]),
                json!([c, a, b]),
            ),
            (json!(null), json!([c]), json!([a, b, c])),
            (json!([]), json!([c]), json!([a, b, c])),
            // Nothing has been dropped.
            (
                json!([{"name": "a"}, {"name": "b"}]),
                json!(null),
                json!(null),
            ),
            (
                json!([{"name": "a"}, {"name": "b"}]),
                json!([{"name": "b"}]),
                json!([b]),
            ),
        ] {
            check(&stored, &seen, &wanted, &changed);
        }
    }

    #[test]
    fn what_is_known_whole_becomes_what_is_wanted() {
        for (seen, wanted) in [
            (json!({"a": [1, 2]}), json!({"a": [2, 3]})),
            (json!({"a": {"b": {}}}), json!({"a": {"c": []}})),
            (json!({"a": {"b": 1}}), json!({"a": [1]})),
            (json!({"a": 1}), json!({})),
            (json!([{"type": "a"}]), json!([{"type": "b"}])),
            (json!({}), json!([])),
        ] {
            check(&seen, &seen, &wanted, &wanted);
        }
    }
}
