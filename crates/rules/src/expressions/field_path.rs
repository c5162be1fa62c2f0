//! The `fieldPath` of a rule.

use serde_json::Value;

use crate::path::{FieldPath, Step};

/// Reads the `fieldPath` of a rule: `.spec.name`, `['a']`. `None` if it leads nowhere in the schema.
pub fn below(schema: &Value, path: &str) -> Option<FieldPath> {
    let (mut schema, mut rest, mut steps) = (schema, path, Vec::new());
    while !rest.is_empty() {
        let name;
        (name, rest) = next(rest)?;
        if let Some(fields) = schema["properties"].as_object() {
            schema = fields.get(&name)?;
            steps.push(Step::Field(name));
        } else {
            schema = Some(&schema["additionalProperties"]).filter(|it| it.is_object())?;
            steps.push(Step::Key(name));
        }
    }
    Some(FieldPath(steps))
}

/// The first name of a path, and what follows it.
fn next(path: &str) -> Option<(String, &str)> {
    if let Some(quoted) = path.strip_prefix("['") {
        let (mut name, mut characters) = (String::new(), quoted.char_indices());
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' => return Some((name, quoted[at..].strip_prefix("']")?)),
                '\\' => name.push(unescaped(characters.next()?.1)?),
                other => name.push(other),
            }
        }
        return None;
    }
    let rest = path.strip_prefix('.')?;
    let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    Some((name.to_owned(), rest))
}

/// The character that is written as this one after a backslash.
fn unescaped(character: char) -> Option<char> {
    Some(match character {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\'' | '\\' => character,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_path_of_a_rule_is_read() {
        let schema = json!({"properties": {
            "a": {"properties": {"b.c": {}, "it's": {}}}, "labels": {"additionalProperties": {}},
        }});
        let read = |path: &str| below(&schema, path).map(|path| path.to_string());
        for (path, expected) in [
            (".a", Some("a")),
            (".a['b.c']", Some("a.b.c")),
            (r".a['it\'s']", Some("a.it's")),
            (".labels.x", Some("labels[x]")),
            (".labels['x.y']", Some("labels[x.y]")),
            (".b", None),
            ("a", None),
            (".a['b.c", None),
        ] {
            assert_eq!(read(path).as_deref(), expected, "{path}");
        }
    }
}
