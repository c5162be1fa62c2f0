//! Keeps what a conversion must not lose: metadata, and fields that the source type does not know.

use serde_json::{Map, Value};

/// The metadata of a converted object: the metadata of `raw`, with the labels and annotations that the conversion
/// changed.
///
/// `known` is `raw` as its type reads it, `converted` the result of the conversion. A conversion that copies no
/// metadata has not removed any.
pub(super) fn metadata(mut raw: Value, known: &Value, converted: &Value) -> Value {
    let along = known["name"] == converted["name"];
    for field in ["labels", "annotations"] {
        let (before, after) = (&known[field], &converted[field]);
        if before == after || (!along && empty(after)) {
            continue;
        }
        let mut texts = raw[field].as_object().cloned().unwrap_or_default();
        if along {
            let after = after.as_object();
            texts.retain(|name, _| after.is_some_and(|after| after.contains_key(name)));
        }
        texts.extend(after.as_object().into_iter().flatten().map(own));
        raw[field] = Value::Object(texts);
    }
    raw
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Copies everything in `raw` that is not in `known` to the same path in `to`, unless `to` has a value there.
///
/// An empty field counts as known, because types leave empty fields out when they are serialized.
pub(super) fn carry_over(raw: &Value, known: &Value, to: &mut Value) {
    match (raw, known, to) {
        (Value::Object(raw), Value::Object(known), Value::Object(to)) => {
            for (name, raw) in raw {
                match (known.get(name), to.get_mut(name)) {
                    (Some(known), Some(to)) => carry_over(raw, known, to),
                    (Some(known), None) => add(to, name, unknown(raw, known)),
                    (None, None | Some(Value::Null)) if !empty(raw) => {
                        to.insert(name.clone(), raw.clone());
                    }
                    (None, _) => {}
                }
            }
        }
        (Value::Array(raw), Value::Array(known), Value::Array(to))
            if raw.len() == known.len() && raw.len() == to.len() =>
        {
            for ((raw, known), to) in raw.iter().zip(known).zip(to) {
                carry_over(raw, known, to);
            }
        }
        _ => {}
    }
}

fn add(to: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        to.insert(name.to_owned(), value);
    }
}

/// The fields of `raw` that are not in `known`, with the objects that contain them; `None` if there are none.
fn unknown(raw: &Value, known: &Value) -> Option<Value> {
    let (raw, known) = (raw.as_object()?, known.as_object()?);
    let fields = raw.iter().filter_map(|(name, raw)| {
        let value = match known.get(name) {
            Some(known) => unknown(raw, known),
            None => (!empty(raw)).then(|| raw.clone()),
        };
        Some((name.clone(), value?))
    });
    let fields: Map<_, _> = fields.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Whether a type may leave this value out when it is serialized.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(raw: &Value, known: &Value, mut to: Value, expected: &Value) {
        carry_over(raw, known, &mut to);
        assert_eq!(to, *expected);
    }

    #[test]
    fn unknown_fields_are_copied_to_the_same_path() {
        check(
            &json!({ "a": 1, "new": 1, "in": { "b": 1, "new": [2] } }),
            &json!({ "a": 1, "in": { "b": 1 } }),
            json!({ "c": 1, "in": { "d": 1 } }),
            &json!({ "c": 1, "new": 1, "in": { "d": 1, "new": [2] } }),
        );
    }

    #[test]
    fn a_missing_parent_of_an_unknown_field_is_created() {
        check(
            &json!({ "in": { "b": 1, "new": 2 } }),
            &json!({ "in": { "b": 1 } }),
            json!({}),
            &json!({ "in": { "new": 2 } }),
        );
    }

    #[test]
    fn a_renamed_or_omitted_empty_field_is_not_unknown() {
        check(
            &json!({ "old": 1, "none": null, "list": [], "zero": 0 }),
            &json!({ "old": 1 }),
            json!({ "renamed": 1 }),
            &json!({ "renamed": 1 }),
        );
    }

    #[test]
    fn an_existing_field_is_not_overwritten() {
        check(
            &json!({ "a": 1 }),
            &json!({}),
            json!({ "a": 2 }),
            &json!({ "a": 2 }),
        );
    }

    #[test]
    fn items_of_lists_of_equal_length_are_matched_by_index() {
        check(
            &json!([{ "a": 1, "new": 1 }]),
            &json!([{ "a": 1 }]),
            json!([{ "b": 1 }]),
            &json!([{ "b": 1, "new": 1 }]),
        );
        check(&json!([{ "new": 1 }]), &json!([{}]), json!([]), &json!([]));
    }

    #[test]
    fn only_labels_and_annotations_of_the_metadata_change() {
        let raw = json!({ "name": "a", "new": 1, "labels": { "a": "1", "b": "2" } });
        let known = json!({ "name": "a", "labels": { "a": "1", "b": "2" } });
        let converted = json!({ "name": "a", "labels": { "b": "3", "c": "4" }, "uid": "x" });
        assert_eq!(
            metadata(raw.clone(), &known, &converted),
            json!({ "name": "a", "new": 1, "labels": { "b": "3", "c": "4" } })
        );
        // The same metadata, and a conversion that copies none.
        assert_eq!(metadata(raw.clone(), &known, &known), raw);
        assert_eq!(metadata(raw.clone(), &known, &json!({})), raw);
        let converted = json!({ "annotations": { "x": "y" } });
        let added = metadata(raw.clone(), &known, &converted);
        assert_eq!(added["labels"], raw["labels"]);
        assert_eq!(added["annotations"], json!({ "x": "y" }));
    }
}
