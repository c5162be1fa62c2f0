//! The schemas of a version, one after the other, each with where it is.

use serde_json::Value;

/// What a schema describes: some rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The whole object.
    Root,
    /// A field, or a value of a map.
    Field,
    /// An item of a list.
    Item,
}

/// A schema that describes values. Those in `anyOf` and its like only restrict values, and are not visited.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// `.spec.ports[].name`; empty for the root.
    pub path: String,
    /// The schema.
    pub schema: &'a Value,
    /// What it describes.
    pub level: Level,
    /// Whether it is in `metadata`, `apiVersion` or `kind` of the object or of one that is embedded.
    pub meta: bool,
    /// Whether it is in those of the object itself, where no default may be.
    pub root_meta: bool,
    /// The list or map that it is in whose parts have no identity, so that there is no `oldSelf`.
    pub unrelated: Option<String>,
    /// How often it can occur in one object; `None` when only the size of a request bounds it.
    pub occurrences: Option<u64>,
}

impl<'a> Node<'a> {
    /// A keyword's value; `null` when it is not there.
    pub fn get(&self, key: &str) -> &'a Value {
        &self.schema[key]
    }

    /// A keyword that is a string; empty when it is not there.
    pub fn text(&self, key: &str) -> &'a str {
        self.schema[key].as_str().unwrap_or_default()
    }

    /// Whether a keyword is `true`.
    pub fn is(&self, key: &str) -> bool {
        self.schema[key] == Value::Bool(true)
    }

    /// Its rules in CEL.
    pub fn rules(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let rules = self.get("x-kubernetes-validations").as_array();
        rules.into_iter().flatten()
    }

    /// Whether it describes a whole object, the root or an embedded one.
    pub fn is_resource(&self) -> bool {
        self.level == Level::Root || is_embedded(self.schema)
    }
}

/// Whether a schema describes an object within an object.
pub fn is_embedded(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == Value::Bool(true)
}

/// The schema of a version and all that is in it, each with its JSON path: `.spec.ports[].name`, `.spec.labels[*]`.
///
/// What `anyOf` and its like hold is left out: that restricts values which another schema describes.
#[must_use]
pub fn schemas(schema: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    walk(schema, &mut |node| {
        all.push((node.path.clone(), node.schema));
    });
    all
}

/// Visits the schema of a version and all that is in it.
pub fn walk<'a>(schema: &'a Value, visit: &mut impl FnMut(&Node<'a>)) {
    let root = Node {
        path: String::new(),
        schema,
        level: Level::Root,
        meta: false,
        root_meta: false,
        unrelated: None,
        occurrences: Some(1),
    };
    descend(&root, visit);
}

fn descend<'a>(node: &Node<'a>, visit: &mut impl FnMut(&Node<'a>)) {
    visit(node);
    for (name, schema) in node.get("properties").as_object().into_iter().flatten() {
        let meta = node.is_resource() && ["apiVersion", "kind", "metadata"].contains(&&**name);
        let atomic = node.text("x-kubernetes-map-type") == "atomic";
        descend(
            &Node {
                path: format!("{}.{name}", node.path),
                schema,
                level: Level::Field,
                meta: node.meta || meta,
                root_meta: node.root_meta || meta && node.level == Level::Root,
                unrelated: unrelated(node, atomic),
                occurrences: node.occurrences,
            },
            visit,
        );
    }
    let parts = [
        ("additionalProperties", "[*]", "maxProperties", Level::Field),
        ("items", "[]", "maxItems", Level::Item),
    ];
    for (key, sign, bound, level) in parts {
        let schema = node.get(key);
        if schema.is_object() {
            let anonymous = key == "items" && node.text("x-kubernetes-list-type") != "map";
            let bound = node.get(bound).as_u64();
            descend(
                &Node {
                    path: format!("{}{sign}", node.path),
                    schema,
                    level,
                    meta: node.meta,
                    root_meta: node.root_meta,
                    unrelated: unrelated(node, anonymous),
                    occurrences: node
                        .occurrences
                        .zip(bound)
                        .map(|(a, b)| a.saturating_mul(b)),
                },
                visit,
            );
        }
    }
}

/// The outermost one counts.
fn unrelated(node: &Node, here: bool) -> Option<String> {
    match &node.unrelated {
        None if here => Some(node.path.clone()),
        outer => outer.clone(),
    }
}
