//! The path of a value in an object.

use std::fmt;

use serde_json::Value;

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of an object.
    Field(String),
    /// A key of a map.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// A path, written as in the API server's messages: `spec.ports[0]`, `spec.labels[a]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(pub Vec<Step>);

impl FieldPath {
    /// Reads the `fieldPath` of a rule: `.spec.name`, `['a']`. `None` if it leads nowhere in the schema.
    pub fn below(schema: &Value, path: &str) -> Option<Self> {
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
        Some(Self(steps))
    }
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

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Key(name) => write!(f, "[{name}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
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
        let read = |path: &str| FieldPath::below(&schema, path).map(|path| path.to_string());
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
