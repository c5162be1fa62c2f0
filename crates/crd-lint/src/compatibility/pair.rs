//! Pairs the schemas of two versions by the path of the values that they describe.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::lints::keywords::INT_OR_STRING;
use crate::node::{Node, walk};

/// The schemas of the same values, then and now.
pub struct Pair<'a> {
    /// The old one.
    pub old: &'a Value,
    /// The new one, with the path.
    pub new: Node<'a>,
}

/// The pairs of the schemas of two versions, each after the one around it. Values whose type has changed end the comparison: nothing
/// in them is comparable. `metadata` is not compared: it is the API server's.
pub fn pairs<'a>(old: &'a Value, new: &'a Value) -> Vec<Pair<'a>> {
    let mut known = BTreeMap::new();
    walk(old, &mut |node| {
        known.insert(node.path.clone(), node.schema);
    });
    let mut pairs: Vec<Pair> = Vec::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    walk(new, &mut |node| {
        let mut around = node.path.match_indices(['.', '[']);
        if node.meta || around.any(|(at, _)| ended.contains(&node.path[..at])) {
            return;
        }
        for (path, old) in before(&known, node) {
            if kind(old) != kind(node.schema) {
                ended.insert(path.clone());
            }
            let mut new = node.clone();
            new.path = path;
            pairs.push(Pair { old, new });
        }
    });
    pairs
}

/// The old schemas of the values that a new one describes, with their paths: usually one.
///
/// A new field may have been one of the values of a map, and the values of a new map may have been fields.
fn before<'a>(known: &BTreeMap<String, &'a Value>, new: &Node) -> Vec<(String, &'a Value)> {
    let path = &new.path;
    if let Some(same) = known.get(path) {
        return vec![(path.clone(), same)];
    }
    let around = path.rsplit_once('.').map_or("", |(around, _)| around);
    if let Some(values) = known.get(&format!("{around}[*]")) {
        return vec![(path.clone(), values)];
    }
    let Some(map) = path.strip_suffix("[*]") else {
        return Vec::new();
    };
    let start = format!("{map}.");
    let below = known.range(start.clone()..);
    let below = below.map_while(|(path, old)| Some((path, path.strip_prefix(&start)?, old)));
    let fields = below.filter(|(_, name, _)| !name.contains(['.', '[']));
    fields.map(|(path, _, old)| (path.clone(), *old)).collect()
}

impl Pair<'_> {
    pub fn path(&self) -> &str {
        &self.new.path
    }

    /// The values of a keyword, then and now; `null` if it is missing.
    pub fn both(&self, key: &str) -> (&Value, &Value) {
        (&self.old[key], &self.new.schema[key])
    }

    /// Whether the type is still the same.
    pub fn is_same_kind(&self) -> bool {
        kind(self.old) == kind(self.new.schema)
    }

    /// Whether the API server tolerates an existing value that is invalid now, in an update that does not change it: only scalars, and
    /// not in lists whose items have no identity. Objects and lists change whenever something in them does.
    pub fn ratchets(&self) -> bool {
        let scalar = !matches!(kind(self.new.schema), Kind::Object | Kind::List | Kind::Any);
        scalar && self.new.unrelated.is_none()
    }

    /// Whether all values that were valid are known, and still are.
    pub fn keeps_every_value(&self) -> bool {
        let known = self.old["enum"].as_array();
        known.is_some_and(|values| apiserver_rules::are_valid(self.new.schema, values))
    }
}

/// The type of a value, as far as it decides which keywords apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Any,
    Boolean,
    Integer,
    IntOrString,
    List,
    Number,
    Object,
    Resource,
    String,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::IntOrString => "integer or string",
            Self::List => "array",
            Self::Number => "number",
            Self::Object => "object",
            Self::Resource => "embedded resource",
            Self::String => "string",
        }
    }
}

/// The type that a schema describes.
pub fn kind(schema: &Value) -> Kind {
    if schema[INT_OR_STRING] == true {
        return Kind::IntOrString;
    }
    match schema["type"].as_str() {
        Some("boolean") => Kind::Boolean,
        Some("integer") => Kind::Integer,
        Some("array") => Kind::List,
        Some("number") => Kind::Number,
        Some("object") if apiserver_rules::is_embedded(schema) => Kind::Resource,
        Some("object") => Kind::Object,
        Some("string") => Kind::String,
        _ => Kind::Any,
    }
}
