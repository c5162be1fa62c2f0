//! Parses YAML with the line of each field.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

/// A document with the line of each field.
pub struct Document {
    /// The parsed value.
    pub value: Value,
    /// Paths (`.spec.ports[0].name`) and lines, outer before inner.
    lines: Vec<(String, u64)>,
}

impl Document {
    /// Every document of a file.
    ///
    /// # Errors
    /// The text is not valid YAML.
    pub fn all(text: &str) -> anyhow::Result<Vec<Self>> {
        let roots: Vec<Spanned<Node>> = kbr_host::yaml::documents(text)?;
        let document = |root: Spanned<Node>| {
            let mut lines = vec![(String::new(), root.referenced.line())];
            let value = root.value.flatten("", &mut lines);
            Self { value, lines }
        };
        Ok(roots.into_iter().map(document).collect())
    }

    /// The line of the value at `path`, or of the nearest value around it.
    pub fn line(&self, path: &str) -> u64 {
        let around = |known: &str| {
            let rest = path.strip_prefix(known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let found = self.lines.iter().filter(|(known, _)| around(known));
        found
            .max_by_key(|(known, _)| known.len())
            .map_or(1, |(_, line)| *line)
    }
}

enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    /// With the line of each name.
    Map(Vec<(Spanned<String>, Node)>),
}

impl Node {
    /// Records the lines of all values below `path`.
    fn flatten(self, path: &str, lines: &mut Vec<(String, u64)>) -> Value {
        match self {
            Node::Scalar(value) => value,
            Node::List(items) => {
                let item = |(position, item): (usize, Spanned<Node>)| {
                    let path = format!("{path}[{position}]");
                    lines.push((path.clone(), item.referenced.line()));
                    item.value.flatten(&path, lines)
                };
                items.into_iter().enumerate().map(item).collect()
            }
            Node::Map(fields) => {
                let field = |(name, field): (Spanned<String>, Node)| {
                    let path = format!("{path}.{}", name.value);
                    lines.push((path.clone(), name.referenced.line()));
                    (name.value, field.flatten(&path, lines))
                };
                Value::Object(fields.into_iter().map(field).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("YAML that is JSON too")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Node, D::Error> {
        Node::deserialize(inner)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_field_has_its_line() {
        let text = "# one\na:\n  b: 1\n  c:\n  - d: x\n    e: null\n  -\n    d: 1.5\n---\na: {b: [true, -1]}\n";
        let documents = Document::all(text).unwrap();
        let [first, second] = &documents[..] else {
            panic!("two documents");
        };
        assert_eq!(
            first.value,
            json!({ "a": { "b": 1, "c": [{ "d": "x", "e": null }, { "d": 1.5 }] } })
        );
        assert_eq!(second.value, json!({ "a": { "b": [true, -1] } }));
        let lines = [
            ".a",
            ".a.b",
            ".a.c[0].d",
            ".a.c[0].e",
            ".a.c[0].missing.x",
            ".a.c[1].d",
            ".z",
        ];
        assert_eq!(lines.map(|path| first.line(path)), [2, 3, 5, 6, 5, 8, 2]);
        assert_eq!(second.line(".a.b[1]"), 10);
    }

    #[test]
    fn invalid_yaml_is_an_error_with_its_line() {
        let error = Document::all("a: 1\nb: [\n").err().unwrap();
        assert!(error.to_string().contains("line"), "{error}");
    }
}
