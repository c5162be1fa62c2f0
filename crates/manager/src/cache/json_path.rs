//! Names the field of a JSON text at which reading it failed.

/// A map or list that a position in a text lies in.
enum Within<'a> {
    /// The key whose value is read, or was read last.
    Map(Option<&'a str>),
    /// The index of the element that is read.
    List(usize),
}

/// What is wrong and where, such as ``spec.message: invalid type: integer `5`, expected a string``.
pub(super) fn explain(text: &str, error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = whole.strip_suffix(&place).unwrap_or(&whole);
    let line = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let end = line.map(str::len).sum::<usize>() + error.column();
    match path(text.as_bytes().get(..end).unwrap_or_default()) {
        path if path.is_empty() => message.to_owned(),
        path => format!("{path}: {message}"),
    }
}

/// The path, as `kubectl explain` writes it, of what the beginning of a valid JSON text ends with.
fn path(text: &[u8]) -> String {
    let mut within = Vec::new();
    let (mut at, mut key_follows) = (0, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' => {
                within.push(Within::Map(None));
                key_follows = true;
            }
            b'[' => within.push(Within::List(0)),
            b'}' | b']' => drop(within.pop()),
            b':' => key_follows = false,
            b',' => match within.last_mut() {
                Some(Within::List(index)) => *index += 1,
                _ => key_follows = true,
            },
            b'"' => {
                let string = string(&text[at + 1..]);
                if let (true, Some(Within::Map(key))) = (key_follows, within.last_mut()) {
                    *key = str::from_utf8(string).ok();
                }
                at += string.len() + 1;
            }
            _ => {}
        }
        at += 1;
    }
    show(&within)
}

/// The string that a text begins with, without its closing quote, as it is written.
fn string(text: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    &text[..at.min(text.len())]
}

fn show(within: &[Within<'_>]) -> String {
    let mut path = String::new();
    for part in within {
        match part {
            Within::Map(None) => {}
            Within::Map(Some(key)) if key.contains(['.', '/']) => {
                path.push_str(&format!("[{key}]"));
            }
            Within::Map(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Within::List(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read from text")]
    struct Object {
        spec: Spec,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read from text")]
    struct Spec {
        message: String,
        #[serde(default)]
        ports: Vec<Port>,
        #[serde(default)]
        sizes: BTreeMap<String, u8>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read from text")]
    struct Port {
        number: u16,
    }

    #[track_caller]
    fn check(text: &str, explained: &str) {
        let error = serde_json::from_str::<Object>(text).unwrap_err();
        assert_eq!(explain(text, &error), explained);
    }

    #[test]
    fn the_field_of_an_error_is_named() {
        check(
            r#"{"a":{"b":[1]},"spec":{"message":5,"x":1}}"#,
            "spec.message: invalid type: integer `5`, expected a string",
        );
        check(
            r#"{"spec":{"message":{"a":1},"x":2}}"#,
            "spec.message: invalid type: map, expected a string",
        );
        check(
            r#"{"spec":{"message":"a","ports":[{"number":1},{"number":"\"}"}]}}"#,
            r#"spec.ports[1].number: invalid type: string "\"}", expected u16"#,
        );
        check(
            r#"{"spec":{"message":"a","sizes":{"example.com/a":300}}}"#,
            "spec.sizes[example.com/a]: invalid value: integer `300`, expected u8",
        );
    }

    #[test]
    fn a_missing_field_is_named_with_what_lacks_it() {
        check(r#"{"spec":{"x":{"y":1}}}"#, "spec: missing field `message`");
        check(r#"{"a":5}"#, "missing field `spec`");
        check(
            r#"{"spec":{"message":"a","ports":[{"number":1},{}]}}"#,
            "spec.ports[1]: missing field `number`",
        );
    }

    #[test]
    fn a_text_of_several_lines_is_explained_as_well() {
        check(
            "{\n  \"spec\": {\n    \"message\": 5\n  }\n}",
            "spec.message: invalid type: integer `5`, expected a string",
        );
    }
}
