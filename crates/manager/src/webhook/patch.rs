//! Turns the changes of a defaulter into a JSON patch.
//!
//! Three values are compared: the object as it was sent, and the object as its type serializes it before and after the
//! change. A difference between the latter two is a change. Fields that the type does not know are in neither, and
//! stay.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
};

use serde::{Serialize, ser::Error as _};
use serde_json::{
    Error, Map, Serializer, Value, from_str, json,
    ser::{CompactFormatter, Formatter},
    value::RawValue,
};

/// The fields of an object, each as it was sent.
pub(super) type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Serializes an object with each of its fields on its own line. A JSON string never contains a bare line feed, so two
/// objects can be compared, and split into their fields, without parsing them.
pub(super) fn lines(object: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(1024);
    object.serialize(&mut Serializer::with_formatter(&mut text, Lines(0)))?;
    String::from_utf8(text).map_err(Error::custom)
}

/// The format of [`lines`]; counts the nesting depth of objects.
struct Lines(usize);

impl Formatter for Lines {
    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0 += 1;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if self.0 == 1 {
            return writer.write_all(b"\n");
        }
        CompactFormatter.begin_object_key(writer, first)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0 -= 1;
        writer.write_all(if self.0 == 0 { b"\n}" } else { b"}" })
    }

    /// Writes a [`RawValue`]. Outside its strings, a line feed is the same as a space.
    fn write_raw_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        writer.write_all(fragment.replace('\n', " ").as_bytes())
    }
}

/// The steps of a JSON patch (RFC 6902) that apply the change from `before` to `after`, both as [`lines`], to `raw`.
/// Fields that are written alike before and after, mostly the larger ones, are not parsed.
pub(super) fn changes(
    raw: &Fields<'_>,
    before: &str,
    after: &str,
) -> serde_json::Result<Vec<Value>> {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (before.lines().collect(), after.lines().collect());
    let only = |these: &BTreeSet<&str>, others| {
        let fields: Vec<_> = these.difference(others).copied().collect();
        from_str::<Map<_, _>>(&format!("{{{}}}", fields.join(",")))
    };
    let (before, after) = (only(&before, &after)?, only(&after, &before)?);
    let changed = |name: &&String| before.contains_key(*name) || after.contains_key(*name);
    let raw: Map<_, _> = raw
        .iter()
        .filter(|(name, _)| changed(name))
        .map(|(name, value)| Ok((name.clone(), from_str(value.get())?)))
        .collect::<serde_json::Result<_>>()?;
    Ok(patch(
        &Value::Object(raw),
        &Value::Object(before),
        &Value::Object(after),
    ))
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
    fn fields_that_serialize_the_same_are_skipped() {
        let raw = json!({ "a": [1], "b": { "unknown": 1 }, "c": "d\n", "unknown": 1 });
        let before = lines(&json!({ "a": [1], "b": {}, "c": "d\n" })).unwrap();
        let after = lines(&json!({ "a": [2], "b": {}, "e": 1 })).unwrap();
        let steps = json!([
            { "op": "replace", "path": "/a", "value": [2] },
            { "op": "add", "path": "/e", "value": 1 },
            { "op": "remove", "path": "/c" },
        ]);
        let raw = raw.to_string();
        let changes = changes(&from_str(&raw).unwrap(), &before, &after).unwrap();
        assert_eq!(Value::Array(changes), steps);
    }

    #[test]
    fn a_raw_value_may_contain_line_breaks() {
        let object = BTreeMap::from([("a", RawValue::from_string("[\n1\n]".to_owned()).unwrap())]);
        assert_eq!(lines(&object).unwrap(), "{\n\"a\":[ 1 ]\n}");
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
