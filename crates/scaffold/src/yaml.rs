//! JSON -> YAML that every parser reads as the same data, with identical bytes every time.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

use crate::quote::is_plain;

/// Renders each document as block YAML with sorted keys, separated by `---`.
///
/// # Errors
/// A document cannot be written as YAML.
pub fn render(documents: &[Value]) -> anyhow::Result<String> {
    let mut text = String::new();
    for (position, document) in documents.iter().enumerate() {
        if position > 0 {
            text.push_str("---\n");
        }
        text.push_str(&document_text(document)?);
    }
    Ok(text)
}

fn document_text(document: &Value) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(&Node(document)).context("cannot write YAML")?;
    let text = without_blanks(&text, document).unwrap_or(text);
    Ok(escaped(&text, document).unwrap_or(text))
}

/// Serializes a value with sorted keys, independent of the map that `serde_json` was built with, and a suitable style for each string.
struct Node<'a>(&'a Value);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => {
                let sorted: BTreeMap<&String, &Value> = map.iter().collect();
                serializer.collect_map(sorted.into_iter().map(|(key, value)| (key, Node(value))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Node)),
            Value::String(text) if begins_with_tab(text) || text.contains(is_odd) => {
                DoubleQuoted(text).serialize(serializer)
            }
            other => other.serialize(serializer),
        }
    }
}

/// libyaml and Go's YAML would reject such a block, because they look for its indentation there.
fn begins_with_tab(text: &str) -> bool {
    text.trim_start_matches([' ', '\n']).starts_with('\t')
}

/// Whether YAML allows a character that no one sees, or that changes how those around it are read.
fn is_odd(letter: char) -> bool {
    !letter.is_control() && !is_plain(letter)
}

/// With escapes for odd characters: the strings that have them are in double quotes. Keys need not be, so `None` if one has them.
fn escaped(text: &str, document: &Value) -> Option<String> {
    let is_clear = !text.contains(is_odd) || has_odd_key(document);
    (!is_clear).then(|| {
        let escaped = text.chars().map(|letter| match letter {
            letter if is_odd(letter) => format!("\\U{:08x}", u32::from(letter)),
            letter => letter.to_string(),
        });
        escaped.collect()
    })
}

fn has_odd_key(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(is_odd) || has_odd_key(value)),
        Value::Array(items) => items.iter().any(has_odd_key),
        _ => false,
    }
}

/// Removes the indentation of empty lines in block scalars, about which editors and `git diff --check` complain.
/// `None` if there are no such lines, or if the blanks of a line are significant.
fn without_blanks(text: &str, document: &Value) -> Option<String> {
    let empty = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte == b' ');
    if !text.lines().any(empty) {
        return None;
    }
    let lines = text.lines().map(|line| if empty(line) { "" } else { line });
    let trimmed: String = lines.flat_map(|line| [line, "\n"]).collect();
    let read: Value = kbr_host::yaml::document(&trimmed).ok()?;
    (read == *document).then_some(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Writes a value and reads it back with the parser of the same crate and with libyaml's, from which Go's YAML derives.
    fn check(value: &Value) {
        let text = document_text(value).unwrap();
        let read: Value = kbr_host::yaml::document(&text).unwrap();
        assert_eq!(&read, value, "saphyr reads:\n{text}");
        let read: Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(&read, value, "libyaml reads:\n{text}");
    }

    #[test]
    fn strings_that_look_like_other_types_stay_strings() {
        let odd = [
            "",
            " ",
            "~",
            "null",
            "true",
            "on",
            "Off",
            "yes",
            "n",
            "1",
            "1.0",
            "1e3",
            "0x1F",
            "0o17",
            "017",
            "1_000",
            ".5",
            ".inf",
            "-.NaN",
            "12:30:45",
            "2024-01-01",
            "a: b",
            "a #b",
            "#a",
            "- a",
            "-",
            "? a",
            ":",
            "*",
            "&a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a`",
            "{a}",
            "[a]",
            "'a'",
            "\"a\"",
            "a\\b",
            "<<",
            "=",
            "---",
            "...",
            " a",
            "a ",
            "\ta",
            "a\t",
        ];
        for text in odd {
            check(&json!({ "key": text, "list": [text, { "deep": text }] }));
            check(&json!({ text: "value" }));
        }
    }

    #[test]
    fn multi_line_strings_are_unchanged() {
        let word = "word ".repeat(40);
        let texts = [
            "a\nb",
            "a\n",
            "a\n\n",
            "\na",
            "\n",
            "\n\n",
            "  a\nb",
            "a\n  b\n",
            "a\n\n\nb",
            "a: b\n# c\n---\n",
            "a\r\nb",
            "a\tb\n\tc",
            "\ta\nb",
            "\n\ta",
            "a \nb ",
            "- a\n- b",
            &word,
            word.trim(),
            "é\u{85}\u{2028}x",
            "é\u{202e}x\u{200b}\u{e0001}",
            "\u{feff}a",
        ];
        for text in texts {
            let long = format!("{text}\n{word}\n {word}\n\n{word}");
            for text in [text, &long] {
                check(
                    &json!({ "key": text, "list": [text, [text], { "deep": { "deeper": text } }] }),
                );
            }
        }
    }

    #[test]
    fn characters_that_no_one_sees_are_escapes() {
        let text = document_text(&json!({ "a": "x\u{202e}\u{e0001}\ny" })).unwrap();
        assert_eq!(text, "a: \"x\\U0000202e\\U000e0001\\ny\"\n");
        check(&json!({ "a\u{202e}": "x\u{202e}", "b": "\u{61c}" }));
    }

    #[test]
    fn numbers_and_empty_values_keep_their_type() {
        check(
            &json!({ "a": 0, "b": -1, "c": 1.5, "d": 1e300, "e": u64::MAX, "f": i64::MIN, "g": null, "h": true }),
        );
        check(&json!({ "a": {}, "b": [], "c": [[]], "d": [{}], "e": [[1, [2]], 3] }));
    }

    #[test]
    fn empty_lines_are_not_indented_and_significant_spaces_are_kept() {
        let text = document_text(&json!({ "a": { "b": "c\n\nd" } })).unwrap();
        assert_eq!(text, "a:\n  b: |-\n    c\n\n    d\n");
        check(&json!({ "a": { "b": "c\n\nd", "e": "f\n  \ng" } }));
    }

    #[test]
    fn files_have_the_usual_yaml_style() {
        let role = json!({ "rules": [{ "apiGroups": ["", "apps"], "verbs": ["*"] }], "kind": "Role", "empty": [] });
        let text = render(&[role, json!({ "a": 1 })]).unwrap();
        let expected = "empty: []\nkind: Role\nrules:\n- apiGroups:\n  - \"\"\n  - apps\n  verbs:\n  - \"*\"\n---\na: 1\n";
        assert_eq!(text, expected);
    }
}
