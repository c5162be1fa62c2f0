//! Keeps what a conversion must not lose: metadata, and fields that the source type does not know.
//!
//! Everything here is the text of JSON, so that a large object takes little more memory than its text. Once the budget is
//! exceeded, the texts are incomplete, and do not count.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::text::{Fields, fields, items};
use crate::servers::budget::Budget;

/// An object that is being written.
pub(super) struct Writer<'a> {
    text: &'a mut String,
    first: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(text: &'a mut String) -> Self {
        text.push('{');
        Self { text, first: true }
    }

    /// Writes a name, which is in quotes already; returns the text to write the value to.
    pub(super) fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.text.push(',');
        }
        self.text.push_str(name);
        self.text.push(':');
        self.text
    }

    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.name(name).push_str(value);
    }

    pub(super) fn end(self) {
        self.text.push('}');
    }
}

/// The bytes of an entry of a map of texts, besides its texts.
const ENTRY: usize = 2 * size_of::<(String, String)>() + 48;

/// The metadata that a conversion may change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Texts {
    name: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Texts {
    /// A copy, which is empty if it exceeds the budget.
    pub(super) fn of(meta: &ObjectMeta, budget: &Budget) -> Self {
        let maps = meta.labels.iter().chain(&meta.annotations);
        let bytes = maps
            .flatten()
            .map(|(name, value)| ENTRY + name.len() + value.len());
        if !budget.charge(bytes.sum()) {
            return Self::default();
        }
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
pub(super) fn metadata(
    raw: &str,
    known: &Texts,
    converted: Texts,
    budget: &Budget,
) -> serde_json::Result<String> {
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
    for (name, field) in fields(raw, budget) {
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

/// Writes `to`, with everything in `raw` that is not in `known` at the same path, unless `to` has a value there.
///
/// An empty field counts as known, because types leave empty fields out when they are serialized.
pub(super) fn carry_over(raw: &str, known: &str, to: &str, text: &mut String, budget: &Budget) {
    if raw == known {
        return text.push_str(to);
    }
    match (raw.as_bytes(), known.as_bytes(), to.as_bytes()) {
        ([b'{', ..], [b'{', ..], [b'{', ..]) => {
            let used = budget.used();
            let [raw, known, to] = [raw, known, to].map(|text| fields(text, budget));
            let mut object = Writer::new(text);
            carry_fields(&raw, &known, &to, &mut object, budget);
            object.end();
            budget.back_to(used);
        }
        ([b'[', ..], [b'[', ..], [b'[', ..]) if same_length(raw, known, to) => {
            text.push('[');
            for (at, ((raw, known), to)) in items(raw).zip(items(known)).zip(items(to)).enumerate()
            {
                if at > 0 {
                    text.push(',');
                }
                carry_over(raw, known, to, text, budget);
            }
            text.push(']');
        }
        _ => text.push_str(to),
    }
}

/// Like [`carry_over`], for the fields of an object.
pub(super) fn carry_fields(
    raw: &Fields<'_>,
    known: &Fields<'_>,
    to: &Fields<'_>,
    object: &mut Writer<'_>,
    budget: &Budget,
) {
    for (name, field) in to {
        match (raw.get(name), known.get(name)) {
            (Some(raw), Some(known)) => {
                let text = object.name(field.name);
                carry_over(raw.value, known.value, field.value, text, budget);
            }
            (Some(raw), None) if field.value == "null" && !empty(raw.value) => {
                object.field(raw.name, raw.value);
            }
            _ => object.field(field.name, field.value),
        }
    }
    for (name, field) in raw.iter().filter(|(name, _)| !to.contains_key(*name)) {
        match known.get(name) {
            Some(known) => {
                if let Some(value) = unknown(field.value, known.value, budget) {
                    object.field(field.name, &value);
                }
            }
            None if !empty(field.value) => object.field(field.name, field.value),
            None => {}
        }
    }
}

fn same_length(raw: &str, known: &str, to: &str) -> bool {
    let length = items(raw).count();
    length == items(known).count() && length == items(to).count()
}

/// The fields of `raw` that are not in `known`, with the objects that contain them; `None` if there are none.
fn unknown(raw: &str, known: &str, budget: &Budget) -> Option<String> {
    if raw == known || !raw.starts_with('{') || !known.starts_with('{') {
        return None;
    }
    let used = budget.used();
    let [known, raw] = [known, raw].map(|text| fields(text, budget));
    let (mut text, mut found) = (String::new(), false);
    let mut object = Writer::new(&mut text);
    for (name, field) in raw {
        let value = match known.get(&name) {
            Some(known) => unknown(field.value, known.value, budget),
            None => (!empty(field.value)).then(|| field.value.to_owned()),
        };
        if let Some(value) = value {
            object.field(field.name, &value);
            found = true;
        }
    }
    object.end();
    budget.back_to(used);
    found.then_some(text)
}

/// Whether a type may leave this value out when it is serialized.
fn empty(value: &str) -> bool {
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

    #[track_caller]
    fn check(raw: &Value, known: &Value, to: &Value, expected: &Value) {
        let mut text = String::new();
        carry_over(
            &raw.to_string(),
            &known.to_string(),
            &to.to_string(),
            &mut text,
            &Budget::all(),
        );
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
        check(
            &json!([{ "a": 1, "new": 1 }, 2]),
            &json!([{ "a": 1 }, 2]),
            &json!([{ "b": 1 }, 2]),
            &json!([{ "b": 1, "new": 1 }, 2]),
        );
        check(&json!([{ "new": 1 }]), &json!([{}]), &json!([]), &json!([]));
    }

    #[test]
    fn numbers_and_names_stay_as_they_were_written() {
        let mut text = String::new();
        let raw = r#"{"a":1,"n\u00e9w":1.50e0,"big":123456789012345678901234567890}"#;
        carry_over(raw, r#"{"a":1}"#, r#"{"a":1}"#, &mut text, &Budget::all());
        let expected = r#"{"a":1,"big":123456789012345678901234567890,"n\u00e9w":1.50e0}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn only_labels_and_annotations_of_the_metadata_change() {
        let raw = json!({ "name": "a", "new": 1, "labels": { "a": "1", "b": "2" } });
        let meta = |value: &Value| {
            Texts::of(
                &serde_json::from_value(value.clone()).unwrap(),
                &Budget::all(),
            )
        };
        let merged = |converted: &Value| {
            let raw_text = raw.to_string();
            let text = metadata(&raw_text, &meta(&raw), meta(converted), &Budget::all()).unwrap();
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
