//! A schema -> the groups of equal structures in it, each of which becomes one type.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::node::{Node, core, node, rest};

/// Where a node is used: a field has its own documentation and rules; in a list or a map, only the type can have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Field,
    Item,
}

/// Structures that become one type.
#[derive(Debug)]
pub struct Group<'a> {
    /// The first node, nearest to the root.
    pub schema: &'a Value,
    /// The names of the fields that lead to it, after `spec` or `status`.
    pub path: Vec<String>,
    /// What the schema of the type contains apart from its core.
    pub rest: Map<String, Value>,
    /// The fixed name, of `spec` and `status`.
    pub name: Option<String>,
}

/// All groups of a version, nearest to the root first.
#[derive(Debug, Default)]
pub struct Groups<'a> {
    pub all: Vec<Group<'a>>,
    /// The core of structures, and their groups.
    index: BTreeMap<String, Vec<usize>>,
}

/// The structures that are fields, by their core.
#[derive(Default)]
struct Fields<'a> {
    uses: BTreeMap<String, Vec<Pending<'a>>>,
    order: Vec<String>,
}

impl<'a> Fields<'a> {
    fn add(&mut self, key: String, next: Pending<'a>) {
        let uses = self.uses.entry(key.clone()).or_default();
        if uses.is_empty() {
            self.order.push(key);
        }
        uses.push(next);
    }
}

struct Pending<'a> {
    schema: &'a Value,
    path: Vec<String>,
    at: Use,
}

impl<'a> Groups<'a> {
    /// Collects the groups below `roots`, which are types with a name of their own.
    pub fn collect(roots: &[(String, &'a Value)]) -> Self {
        let mut groups = Groups::default();
        let mut pending = VecDeque::new();
        for (name, schema) in roots {
            groups.all.push(Group {
                schema,
                path: vec![origin(name)],
                rest: rest(schema),
                name: Some(name.clone()),
            });
            pending.extend(children(schema, &[origin(name)]));
        }
        let mut fields = Fields::default();
        while let Some(next) = pending.pop_front() {
            match node(next.schema) {
                Node::Struct | Node::Enum => {}
                Node::Known(_) => continue,
                _ => {
                    pending.extend(children(next.schema, &next.path));
                    continue;
                }
            }
            let key = key(next.schema);
            if !groups.index.contains_key(&key) && !fields.uses.contains_key(&key) {
                pending.extend(children(next.schema, &next.path));
            }
            match next.at {
                Use::Item => groups.item(key, &next),
                Use::Field => fields.add(key, next),
            }
        }
        groups.fields(fields);
        groups
    }

    /// Structures that no list or map contains.
    fn fields(&mut self, mut fields: Fields<'a>) {
        for key in fields.order {
            if self.index.contains_key(&key) {
                continue;
            }
            if let Some(uses) = fields.uses.remove(&key)
                && let Some(first) = uses.first()
            {
                let group = Group {
                    schema: first.schema,
                    path: first.path.clone(),
                    rest: common(&uses),
                    name: None,
                };
                self.add(key, group);
            }
        }
    }

    fn add(&mut self, key: String, group: Group<'a>) {
        self.index.entry(key).or_default().push(self.all.len());
        self.all.push(group);
    }

    /// Structures in lists and maps are one type only if nothing of their schemas differs.
    fn item(&mut self, key: String, next: &Pending<'a>) {
        let rest = rest(next.schema);
        let mut known = self.index.get(&key).into_iter().flatten();
        if known.any(|&at| self.all[at].rest == rest) {
            return;
        }
        let group = Group {
            schema: next.schema,
            path: next.path.clone(),
            rest,
            name: None,
        };
        self.add(key, group);
    }

    /// The group of a node.
    pub fn find(&self, schema: &Value, at: Use) -> Option<usize> {
        let candidates = self.index.get(&key(schema))?;
        let equal = |&&at: &&usize| self.all[at].rest == rest(schema);
        match at {
            Use::Field => candidates
                .iter()
                .find(equal)
                .or(candidates.first())
                .copied(),
            Use::Item => candidates.iter().find(equal).copied(),
        }
    }
}

/// The field of the object that a type with a fixed name is for; empty for all fields.
fn origin(name: &str) -> String {
    let origin = ["Spec", "Status"]
        .into_iter()
        .find(|end| name.ends_with(end));
    origin.unwrap_or_default().to_lowercase()
}

fn key(schema: &Value) -> String {
    Value::Object(core(schema)).to_string()
}

/// What all uses of a type say, without what belongs to a field.
fn common(uses: &[Pending]) -> Map<String, Value> {
    let rests: Vec<_> = uses.iter().map(|one| rest(one.schema)).collect();
    let first = rests.first().into_iter().flatten();
    let common = first.filter(|(key, value)| {
        let belongs_to_field = ["description", "default", "nullable"].contains(&key.as_str());
        !belongs_to_field && rests.iter().all(|rest| rest.get(*key) == Some(value))
    });
    common
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The nodes below `schema` that can be types.
fn children<'a>(schema: &'a Value, path: &[String]) -> Vec<Pending<'a>> {
    let below = |schema, at| {
        vec![Pending {
            schema,
            path: path.to_vec(),
            at,
        }]
    };
    match node(schema) {
        Node::List(items) => below(items, Use::Item),
        Node::Map(values) => below(values, Use::Item),
        Node::Struct | Node::Known(_) => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let pending = fields.map(|(name, schema)| {
                let path = path.iter().chain([name]).cloned().collect();
                Pending {
                    schema,
                    path,
                    at: Use::Field,
                }
            });
            pending.collect()
        }
        _ => Vec::new(),
    }
}
