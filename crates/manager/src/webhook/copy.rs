//! Keeps what a conversion must not lose: metadata, and fields that the source type does not know.
//!
//! Everything here is the text of JSON, so that a large object takes little more memory than its text.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::text::{Fields, Writer, fields, items};
use crate::parse::Unknown;

/// The metadata that a conversion may change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Texts {
    name: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl From<&ObjectMeta> for Texts {
    fn from(meta: &ObjectMeta) -> Self {
        Self {
            name: meta.name.clone(),
            labels: meta.labels.clone().unwrap_or_default(),
            annotations: meta.annotations.clone().unwrap_or_default(),
        }
    }
}

/// The metadata of a converted object: the metadata of `raw`, with the labels and annotations that the conversion
/// changed.
///
/// `known` is what is in `raw`, `converted` the result of the conversion. A conversion that copies no metadata has not
/// removed any.
pub(super) fn metadata(raw: &str, known: &Texts, converted: Texts) -> serde_json::Result<String> {
    let along = known.name == converted.name;
    let changes = [
        ("annotations", &known.annotations, converted.annotations),
        ("labels", &known.labels, converted.labels),
    ];
    let changes: Vec<_> = changes
        .into_iter()
        .filter(|(_, before, after)| *before != after && (along || !after.is_empty()))
        .map(|(name, before, mut after)| {
            if !along {
                let before = before
                    .iter()
                    .map(|(name, value)| (name.clone(), value.clone()));
                let own = std::mem::replace(&mut after, before.collect());
                after.extend(own);
            }
            Ok((name, serde_json::to_string(&after)?))
        })
        .collect::<serde_json::Result<_>>()?;
    if changes.is_empty() {
        return Ok(raw.to_owned());
    }
    let mut text = String::new();
    let mut object = Writer::new(&mut text);
    for (name, field) in fields(raw) {
        if !changes.iter().any(|(changed, _)| *changed == name) {
            object.field(field.name, field.value);
        }
    }
    for (name, value) in changes {
        object.field(&format!("\"{name}\""), &value);
    }
    object.end();
    Ok(text)
}

/// The values of an object's fields that the source type does not know, in the order of the text that it was read from.
#[derive(Debug, Default)]
pub(super) struct Kept<'a>(Vec<&'a str>);

impl<'a> Kept<'a> {
    /// What the type did not know of `raw`. `known` is the object as the type writes it, which is only needed where the
    /// type may hide what it does not know: there, a field that is not empty counts as unknown if it is not written.
    pub(super) fn of(unknown: Unknown<'a>, raw: &Fields<'a>, known: Option<&Fields<'_>>) -> Self {
        let values = unknown.values.into_iter().map(|it| it.value);
        let mut values: Vec<_> = values.collect();
        if let Some(known) = known {
            compare_fields(raw, known, &mut values);
            values.sort_unstable_by_key(|value| value.as_ptr());
        }
        Self(values)
    }

    /// Whether this value is one of them.
    fn has(&self, value: &str) -> bool {
        self.first_from(value)
            .is_some_and(|first| first.as_ptr() == value.as_ptr())
    }

    /// Whether one of them is in this value.
    fn is_within(&self, value: &str) -> bool {
        self.first_from(value)
            .is_some_and(|first| value.as_bytes().as_ptr_range().contains(&first.as_ptr()))
    }

    /// The first of them that does not begin before this value.
    fn first_from(&self, value: &str) -> Option<&'a str> {
        let at = self
            .0
            .partition_point(|kept| kept.as_ptr() < value.as_ptr());
        self.0.get(at).copied()
    }

    /// Writes `to`, with everything in `raw` that is to be kept at the same path, unless `to` has a value there.
    fn carry_over(&self, raw: &str, to: &str, text: &mut String) {
        match (raw.as_bytes(), to.as_bytes()) {
            _ if !self.is_within(raw) => text.push_str(to),
            ([b'{', ..], [b'{', ..]) => {
                let [raw, to] = [raw, to].map(fields);
                let mut object = Writer::new(text);
                self.carry_fields(&raw, &to, &mut object);
                object.end();
            }
            ([b'[', ..], [b'[', ..]) if items(raw).count() == items(to).count() => {
                text.push('[');
                for (at, (raw, to)) in items(raw).zip(items(to)).enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    self.carry_over(raw, to, text);
                }
                text.push(']');
            }
            _ => text.push_str(to),
        }
    }

    /// Like [`carry_over`](Self::carry_over), for the fields of an object.
    pub(super) fn carry_fields(&self, raw: &Fields<'_>, to: &Fields<'_>, object: &mut Writer<'_>) {
        for (name, field) in to {
            match raw.get(name) {
                Some(raw) if self.has(raw.value) && field.value == "null" => {
                    object.field(raw.name, raw.value);
                }
                Some(raw) if !self.has(raw.value) => {
                    self.carry_over(raw.value, field.value, object.name(field.name));
                }
                _ => object.field(field.name, field.value),
            }
        }
        for (_, field) in raw.iter().filter(|(name, _)| !to.contains_key(*name)) {
            if self.has(field.value) {
                object.field(field.name, field.value);
            } else if field.value.starts_with('{') && self.is_within(field.value) {
                self.carry_over(field.value, "{}", object.name(field.name));
            }
        }
    }
}

/// Adds the values of `raw` that are not in `known` at the same path. An empty one counts as known, because types leave
/// empty fields out when they are serialized.
fn compare<'a>(raw: &'a str, known: &str, missing: &mut Vec<&'a str>) {
    if raw == known {
        return;
    }
    match (raw.as_bytes(), known.as_bytes()) {
        ([b'{', ..], [b'{', ..]) => compare_fields(&fields(raw), &fields(known), missing),
        ([b'[', ..], [b'[', ..]) if items(raw).count() == items(known).count() => {
            for (raw, known) in items(raw).zip(items(known)) {
                compare(raw, known, missing);
            }
        }
        _ => {}
    }
}

fn compare_fields<'a>(raw: &Fields<'a>, known: &Fields<'_>, missing: &mut Vec<&'a str>) {
    for (name, field) in raw {
        match known.get(name) {
            Some(known) => compare(field.value, known.value, missing),
            None if !is_empty(field.value) => missing.push(field.value),
            None => {}
        }
    }
}

/// Whether a type may leave this value out when it is serialized.
fn is_empty(value: &str) -> bool {
    match value.as_bytes() {
        [b'[' | b'{', inner @ .., _] => inner.trim_ascii().is_empty(),
        b"null" | b"false" | b"\"\"" => true,
        _ => value.parse() == Ok(0.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is carried over if the type knows nothing, and writes `known`.
    fn carried(raw: &str, known: &str, to: &str) -> String {
        let (raw, known, to) = (fields(raw), fields(known), fields(to));
        let unknown = Unknown {
            values: Vec::new(),
            may_hide: true,
        };
        let mut text = String::new();
        let mut object = Writer::new(&mut text);
        let kept = Kept::of(unknown, &raw, Some(&known));
        kept.carry_fields(&raw, &to, &mut object);
        object.end();
        text
    }

    #[track_caller]
    fn check(raw: &Value, known: &Value, to: &Value, expected: &Value) {
        let text = carried(&raw.to_string(), &known.to_string(), &to.to_string());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *expected);
    }

    #[test]
    fn unknown_fields_are_copied_to_the_same_path() {
        check(
            &json!({ "a": 1, "new": 1, "in": { "b": 1, "new": [2] } }),
            &json!({ "a": 1, "in": { "b": 1 } }),
            &json!({ "c": 1, "in": { "d": 1 } }),
            &json!({ "c": 1, "new": 1, "in": { "d": 1, "new": [2] } }),
        );
    }

    #[test]
    fn a_missing_parent_of_an_unknown_field_is_created() {
        check(
            &json!({ "in": { "b": 1, "new": 2, "more": { "c": 1 } } }),
            &json!({ "in": { "b": 1, "more": {} } }),
            &json!({}),
            &json!({ "in": { "new": 2, "more": { "c": 1 } } }),
        );
    }

    #[test]
    fn a_renamed_or_omitted_empty_field_is_not_unknown() {
        check(
            &json!({ "old": 1, "none": null, "list": [], "zero": 0, "in": {}, "no": false, "text": "", "nil": 0.0 }),
            &json!({ "old": 1 }),
            &json!({ "renamed": 1 }),
            &json!({ "renamed": 1 }),
        );
    }

    #[test]
    fn an_existing_field_is_not_overwritten() {
        check(
            &json!({ "a": 1, "b": 1 }),
            &json!({}),
            &json!({ "a": 2, "b": null }),
            &json!({ "a": 2, "b": 1 }),
        );
    }

    #[test]
    fn items_of_lists_of_equal_length_are_matched_by_index() {
        let list = |list: Value| json!({ "list": list });
        check(
            &list(json!([{ "a": 1, "new": 1 }, 2])),
            &list(json!([{ "a": 1 }, 2])),
            &list(json!([{ "b": 1 }, 2])),
            &list(json!([{ "b": 1, "new": 1 }, 2])),
        );
        let none = list(json!([]));
        check(
            &list(json!([{ "new": 1 }])),
            &list(json!([{}])),
            &none,
            &none,
        );
    }

    #[test]
    fn numbers_and_names_stay_as_they_were_written() {
        let raw = r#"{"a":1,"n\u00e9w":1.50e0,"big":123456789012345678901234567890}"#;
        let text = carried(raw, r#"{"a":1}"#, r#"{"a":1}"#);
        let expected = r#"{"a":1,"big":123456789012345678901234567890,"n\u00e9w":1.50e0}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn only_labels_and_annotations_of_the_metadata_change() {
        let raw = json!({ "name": "a", "new": 1, "labels": { "a": "1", "b": "2" } });
        let meta = |value: &Value| {
            let meta: ObjectMeta = serde_json::from_value(value.clone()).unwrap();
            Texts::from(&meta)
        };
        let merged = |converted: &Value| {
            let raw_text = raw.to_string();
            let text = metadata(&raw_text, &meta(&raw), meta(converted)).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let converted = json!({ "name": "a", "labels": { "b": "3", "c": "4" }, "uid": "x" });
        let expected = json!({ "name": "a", "new": 1, "labels": { "b": "3", "c": "4" } });
        assert_eq!(merged(&converted), expected);
        // The same metadata, and a conversion that copies none.
        assert_eq!(merged(&raw), raw);
        assert_eq!(merged(&json!({})), raw);
        let mut added = raw.clone();
        added["annotations"] = json!({ "x": "y" });
        assert_eq!(merged(&json!({ "annotations": { "x": "y" } })), added);
        added["labels"]["c"] = json!("3");
        let converted = json!({ "annotations": { "x": "y" }, "labels": { "c": "3" } });
        assert_eq!(merged(&converted), added);
        let none = json!({ "name": "a", "new": 1, "labels": {} });
        assert_eq!(merged(&json!({ "name": "a" })), none);
    }
}
