//! Splits JSON text into the texts of its parts. Nothing is parsed, so it takes little memory, whatever the text holds.
//! The text must be valid JSON.

use std::{borrow::Cow, collections::BTreeMap};

use crate::json_path::end_of_text;

/// A field of an object: its name as it is written, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The fields of an object, by their names.
pub(super) type Fields<'a> = BTreeMap<Cow<'a, str>, Field<'a>>;

/// The fields of an object; none if the text is not an object.
pub(super) fn fields(text: &str) -> Fields<'_> {
    let mut parts = Parts::of(text, '{');
    let mut fields = Fields::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        fields.insert(unescaped(name), Field { name, value });
    }
    fields
}

/// The fields of an object beside those that every object has.
pub(super) fn content(mut fields: Fields<'_>) -> Fields<'_> {
    for name in ["apiVersion", "kind", "metadata"] {
        fields.remove(name);
    }
    fields
}

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

/// The items of a list; none if the text is not a list.
pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    Parts::of(text, '[')
}

/// A name without quotes and escapes. A name that is not text, such as half of a surrogate pair, stays as it is.
fn unescaped(name: &str) -> Cow<'_, str> {
    let inner = name.trim_matches('"');
    if !inner.contains('\\') {
        return inner.into();
    }
    serde_json::from_str(name).map_or(name.into(), Cow::Owned)
}

/// The items of a list, or the names and values of an object.
struct Parts<'a>(&'a str);

impl<'a> Parts<'a> {
    fn of(text: &'a str, bracket: char) -> Self {
        Self(text.trim_start().strip_prefix(bracket).unwrap_or_default())
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let between = |at: char| at.is_ascii_whitespace() || at == ',' || at == ':';
        let rest = self.0.trim_start_matches(between);
        if rest.is_empty() || rest.starts_with([']', '}']) {
            return None;
        }
        let (part, rest) = rest.split_at(end(rest.as_bytes()));
        self.0 = rest;
        Some(part)
    }
}

/// The end of the value at the beginning.
fn end(json: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                at = end_of_text(json, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b'}' | b']' | b',' | b':' if depth == 0 => return at,
            _ if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_fields_and_a_list_has_items() {
        for (text, expected) in [
            ("{}", vec![]),
            (" { } ", vec![]),
            (
                r#"{"a":1,"b":[1,{"c":2}]}"#,
                vec![("a", "1"), ("b", r#"[1,{"c":2}]"#)],
            ),
            (
                r#" { "a" : "x\"}," , "\u0062" : null } "#,
                vec![("a", r#""x\"},""#), ("b", "null")],
            ),
            (r#"{"\ud800":{}}"#, vec![(r#""\ud800""#, "{}")]),
            ("[1]", vec![]),
            ("1", vec![]),
        ] {
            let fields = fields(text);
            let found = fields.iter().map(|(name, field)| (&**name, field.value));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
        for (text, expected) in [
            ("[]", vec![]),
            (
                "[1 ,-2.5e3, \"a,]\" ,[[]],{}]",
                vec!["1", "-2.5e3", "\"a,]\"", "[[]]", "{}"],
            ),
            ("[true\n]", vec!["true"]),
            ("{\"a\":1}", vec![]),
        ] {
            assert_eq!(items(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
