//! Places in an object, and where serde failed to read one.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// A step to a value: the name of a field, or the index of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(String),
    /// An entry of a map.
    Entry(String),
    Item(usize),
}

/// The place of a value in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

impl Path {
    pub fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// As findings show it: `.spec.ports[].name`.
    pub fn shown(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, step| {
            match step {
                Step::Field(name) => write!(text, ".{name}").ok(),
                Step::Entry(_) => write!(text, "[*]").ok(),
                Step::Item(_) => write!(text, "[]").ok(),
            };
            text
        })
    }

    pub fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, step| match step {
            Step::Field(name) | Step::Entry(name) => value.get(name),
            Step::Item(at) => value.get(at),
        })
    }

    /// Sets the value at the place. Returns whether what is around it exists.
    pub fn set(&self, object: &mut Value, value: Value) -> bool {
        let Some((last, above)) = self.0.split_last() else {
            *object = value;
            return true;
        };
        let around = above.iter().try_fold(object, |value, step| match step {
            Step::Field(name) | Step::Entry(name) => value.get_mut(name),
            Step::Item(at) => value.get_mut(at),
        });
        match (around, last) {
            (Some(Value::Object(fields)), Step::Field(name) | Step::Entry(name)) => {
                fields.insert(name.clone(), value);
                true
            }
            (Some(Value::Array(items)), Step::Item(at)) if *at <= items.len() => {
                items.truncate(*at);
                items.push(value);
                true
            }
            _ => false,
        }
    }
}

/// The place in the text of an object where serde failed: that of the value that it had just read, or of the field that it misses there.
pub fn failed(text: &str, why: &str) -> Path {
    let column = why
        .rsplit_once(" column ")
        .and_then(|(_, at)| at.parse().ok());
    let path = at(text, column.unwrap_or(1));
    match missing(why) {
        Some(name) => path.join(Step::Field(name.to_owned())),
        None => path,
    }
}

/// The field that serde misses.
pub fn missing(why: &str) -> Option<&str> {
    why.strip_prefix("missing field `")?.split('`').next()
}

/// The innermost value whose text has the byte before `end`.
fn at(text: &str, end: usize) -> Path {
    let mut path = Path::default();
    // Whether the object or list around is an object, and whether its next string is a name.
    let mut around: Vec<(bool, bool)> = Vec::new();
    let mut bytes = text.bytes().enumerate().take(end).peekable();
    while let Some((start, byte)) = bytes.next() {
        match byte {
            b'{' => around.push((true, true)),
            b'[' => {
                around.push((false, false));
                // Where it begins, the list is the value.
                path.0.extend((start + 1 < end).then_some(Step::Item(0)));
            }
            b'}' | b']' => {
                // The place of the value that ended is that of the whole, from its first byte on.
                if let Some((is_object, is_name)) = around.pop()
                    && !(is_object && is_name)
                {
                    path.0.pop();
                }
            }
            b',' => match (around.last_mut(), path.0.last_mut()) {
                (Some((true, is_name)), _) => {
                    *is_name = true;
                    path.0.pop();
                }
                (_, Some(Step::Item(at))) => *at += 1,
                _ => {}
            },
            b'"' => {
                let mut is_escaped = false;
                let quote = bytes.find(|(_, byte)| {
                    let ends = *byte == b'"' && !is_escaped;
                    is_escaped = *byte == b'\\' && !is_escaped;
                    ends
                });
                let last = quote.map_or(end, |(at, _)| at + 1);
                if let Some((true, is_name @ true)) = around.last_mut() {
                    *is_name = false;
                    let name = serde_json::from_str(&text[start..last]).unwrap_or_default();
                    path.0.push(Step::Field(name));
                }
            }
            _ => {}
        }
    }
    path
}

/// A value of every type of JSON, first of the one that serde asks for.
pub fn others(why: &str) -> Vec<Value> {
    let mut values = [
        json!(true),
        json!(null),
        json!([]),
        json!({}),
        json!(1.5),
        json!(1),
        json!("1"),
    ];
    values.sort_by_key(|value| !why.contains(expected(value)));
    values.into()
}

/// How serde asks for values like this one.
fn expected(value: &Value) -> &'static str {
    match value {
        Value::Null => "expected unit",
        Value::Bool(_) => "expected a boolean",
        Value::Number(number) if number.is_f64() => "expected f",
        Value::Number(_) => "expected i",
        Value::String(_) => "expected a string",
        Value::Array(_) => "expected a sequence",
        Value::Object(_) => "expected a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_where_serde_failed_is_found_in_the_text() {
        let text = r#"{"a":1,"b":{"c":["x\"","y"],"d":{}},"e":null}"#;
        for (byte, place) in [
            ("1", ".a"),
            (r#"x\"""#, ".b.c[]"),
            (r#"y""#, ".b.c[]"),
            ("[", ".b.c"),
            ("]", ".b.c"),
            ("{}", ".b.d"),
            ("}}", ".b"),
            ("null", ".e"),
            ("null}", ""),
        ] {
            let end = text.find(byte).unwrap() + byte.len();
            assert_eq!(at(text, end).shown(), place, "{byte}");
        }
        let Path(steps) = at(text, text.find("y\"").unwrap() + 2);
        assert_eq!(steps.last(), Some(&Step::Item(1)));
        let why = "missing field `c` at line 1 column 34";
        assert_eq!(failed(text, why).shown(), ".b.d.c");
    }

    #[test]
    fn a_value_is_set_only_where_there_is_something_around_it() {
        let mut object = json!({ "a": [{ "b": 1 }] });
        let place = |steps: &[Step]| Path(steps.to_vec());
        let field = |name: &str| Step::Field(name.to_owned());
        assert!(place(&[field("a"), Step::Item(0), field("b")]).set(&mut object, json!(2)));
        assert!(place(&[field("a"), Step::Item(1)]).set(&mut object, json!(3)));
        assert_eq!(object, json!({ "a": [{ "b": 2 }, 3] }));
        assert!(!place(&[field("c"), field("d")]).set(&mut object, json!(2)));
    }
}
