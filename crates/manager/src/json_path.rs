//! Finds the field of a JSON object that cannot be read.

use serde_json::Error;

/// Explains why `text`, a JSON object, cannot be read. It names the field: `spec.ports[0].name: invalid type: …`.
///
/// serde does not track paths, but its errors contain a position.
pub fn explain(text: &str, error: &Error) -> String {
    let problem = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let Some(problem) = problem.strip_suffix(&position) else {
        return problem;
    };
    let lines = text.split_inclusive('\n').take(error.line() - 1);
    let read = lines.map(str::len).sum::<usize>() + error.column();
    let path = path(&text.as_bytes()[..read.min(text.len())]);
    match path.as_str() {
        "" => problem.to_owned(),
        path => format!("{path}: {problem}"),
    }
}

/// An object or a list that is still open, and the current field or index in it.
enum Open {
    Object(Option<String>),
    List(usize),
}

/// The path of the value where the JSON ends.
pub(crate) fn path(json: &[u8]) -> String {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let last = open.last_mut();
        match (byte, last) {
            (b'{', _) => open.push(Open::Object(None)),
            (b'[', _) => open.push(Open::List(0)),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Open::Object(key))) => *key = None,
            (b',', Some(Open::List(place))) => *place += 1,
            (b'"', last) => {
                let end = end_of_text(json, at);
                if let Some(Open::Object(key @ None)) = last {
                    *key = serde_json::from_slice(&json[at..end]).ok();
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if json.last() == Some(&b'[') {
        // The error is about the list itself, before its first item.
        open.pop();
    }
    open.iter().fold(String::new(), |path, open| match open {
        Open::Object(None) => path,
        Open::Object(Some(key)) if key.contains(['.', '/', '[']) => format!("{path}[{key}]"),
        Open::Object(Some(key)) if path.is_empty() => key.clone(),
        Open::Object(Some(key)) => format!("{path}.{key}"),
        Open::List(place) => format!("{path}[{place}]"),
    })
}

/// The end of the string that starts here.
pub(crate) fn end_of_text(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = serde_json::from_str::<Pod>(text).unwrap_err();
        let explained = explain(text, &error);
        assert_eq!(explained, expected, "{error}");
    }

    #[test]
    fn the_field_that_cannot_be_read_is_named() {
        let text = r#"{"spec":{"containers":[{"name":"a"},{"name":5}]}}"#;
        let expected = "spec.containers[1].name: invalid type: integer `5`, expected a string";
        check(text, expected);
        let text = "{\n \"spec\": {\n  \"containers\": [\n {\"name\":\n true } ] } }";
        let expected = "spec.containers[0].name: invalid type: boolean `true`, expected a string";
        check(text, expected);
        let text = r#"{"metadata":{"name":"a","labels":{"a\"b":"{[","c.d/e": {"f": 1}}}}"#;
        let expected = "metadata.labels[c.d/e]: invalid type: map, expected a string";
        check(text, expected);
        let text = r#"{"spec":{"containers":[["a"]]}}"#;
        let expected = "spec.containers[0]: invalid type: sequence, expected Container";
        check(text, expected);
        let text = r#"{"spec":{"containers":[],"priority":"x","nodeName":"a"}}"#;
        let expected = "spec.priority: invalid type: string \"x\", expected i32";
        check(text, expected);
    }

    #[test]
    fn a_missing_field_is_reported_with_the_path_of_its_object() {
        #[derive(Debug, serde::Deserialize)]
        struct Outer {
            #[serde(rename = "spec")]
            _spec: Inner,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Inner {
            #[serde(rename = "message")]
            _message: String,
        }
        for (text, expected) in [
            (
                r#"{"spec":{"a":[1]},"b":{}}"#,
                "spec: missing field `message`",
            ),
            (r#"{"a": {"b": 1}}"#, "missing field `spec`"),
            (
                r#"{"a": [1, {}], "spec": {}}"#,
                "spec: missing field `message`",
            ),
        ] {
            let error = serde_json::from_str::<Outer>(text).unwrap_err();
            assert_eq!(explain(text, &error), expected, "{error}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_explained() {
        check("[1, ", "invalid type: sequence, expected Pod");
        check("{\"spec\": ", "spec: EOF while parsing a value");
        check("", "EOF while parsing a value");
    }
}
