//! Iterates over the schemas of a version with their paths.

use std::borrow::Cow;
use std::cell::Cell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use serde_json::Value;

use apiserver_rules::is_embedded;

/// The position of the value that a schema describes; some rules depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The whole object.
    Root,
    /// A field, or a value of a map.
    Field,
    /// An item of a list.
    Item,
}

/// A schema that describes values. Schemas in `anyOf` and similar keywords only restrict values, and are not visited.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// `.spec.ports[].name`; empty for the root.
    pub path: String,
    /// The schema.
    pub schema: &'a Value,
    /// The position of the value that it describes.
    pub level: Level,
    /// Whether it is in `metadata`, `apiVersion` or `kind` of the root or an embedded object.
    pub meta: bool,
    /// Whether it is in `metadata`, `apiVersion` or `kind` of the root, where defaults are not allowed.
    pub root_meta: bool,
    /// The outermost list around it whose items have no identity, so that `oldSelf` is not available.
    pub unrelated: Option<String>,
    /// The maximum number of occurrences in one object; `None` if only the size of a request bounds it.
    pub occurrences: Option<u64>,
    /// What the checks of all defaults of a definition may still cost.
    pub steps: Rc<Cell<usize>>,
}

impl<'a> Node<'a> {
    /// The value of a keyword; `null` if it is missing.
    pub fn get(&self, key: &str) -> &'a Value {
        &self.schema[key]
    }

    /// The value of a keyword that is a string; empty if it is missing.
    pub fn text(&self, key: &str) -> &'a str {
        self.schema[key].as_str().unwrap_or_default()
    }

    /// Whether a keyword is `true`.
    pub fn is(&self, key: &str) -> bool {
        self.schema[key] == Value::Bool(true)
    }

    /// Its CEL rules.
    pub fn rules(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let rules = self.get("x-kubernetes-validations").as_array();
        rules.into_iter().flatten()
    }

    /// Whether it describes a whole object: the root or an embedded one.
    pub fn is_resource(&self) -> bool {
        self.level == Level::Root || is_embedded(self.schema)
    }
}

/// The schema of a version and all schemas in it, each with its JSON path: `.spec.ports[].name`, `.spec.labels[*]`.
///
/// Schemas in `anyOf` and similar keywords are left out: they restrict values that another schema describes.
#[must_use]
pub fn schemas(schema: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    walk(schema, &mut |node| {
        all.push((node.path.clone(), node.schema));
    });
    all
}

/// Enough for the checks of all defaults of a definition. Those of values with alternatives, and rules over lists, multiply.
pub const STEPS: usize = 200_000;

/// Visits the schema of a version and all schemas in it.
pub fn walk<'a>(schema: &'a Value, visit: &mut impl FnMut(&Node<'a>)) {
    walk_within(&Rc::new(Cell::new(STEPS)), schema, visit);
}

/// The same with steps that are shared with other versions.
pub fn walk_within<'a>(
    steps: &Rc<Cell<usize>>,
    schema: &'a Value,
    visit: &mut impl FnMut(&Node<'a>),
) {
    let root = Node {
        path: String::new(),
        schema,
        level: Level::Root,
        meta: false,
        root_meta: false,
        unrelated: None,
        occurrences: Some(1),
        steps: steps.clone(),
    };
    descend(&root, visit);
}

fn descend<'a>(node: &Node<'a>, visit: &mut impl FnMut(&Node<'a>)) {
    visit(node);
    for (name, schema) in node.get("properties").as_object().into_iter().flatten() {
        let meta = node.is_resource() && ["apiVersion", "kind", "metadata"].contains(&&**name);
        descend(
            &Node {
                path: format!("{}.{}", node.path, shown(name)),
                schema,
                level: Level::Field,
                meta: node.meta || meta,
                root_meta: node.root_meta || meta && node.level == Level::Root,
                unrelated: node.unrelated.clone(),
                occurrences: node.occurrences,
                steps: node.steps.clone(),
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
                    steps: node.steps.clone(),
                },
                visit,
            );
        }
    }
}

/// A name as a part of a path, which each schema below it repeats: a longer one by its beginning and its hash.
fn shown(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 200;
    if name.len() <= LONGEST {
        return name.into();
    }
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    let beginning: String = name.chars().take(LONGEST).collect();
    format!("{beginning}…{:x}", hash.finish()).into()
}

/// Keeps the outermost one.
fn unrelated(node: &Node, here: bool) -> Option<String> {
    match &node.unrelated {
        None if here => Some(node.path.clone()),
        outer => outer.clone(),
    }
}
