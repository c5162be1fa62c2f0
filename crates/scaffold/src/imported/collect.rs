//! A schema -> the groups of equal structures in it, each of which becomes one type.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::node::{Key, Node, Use, core, key, node, rest};
use super::shared::{SharedType, Sharing};

/// The names of the fields that lead to a node, the last first. Nodes share those around them: they are not copied for each.
#[derive(Clone, Debug)]
pub struct Path<'a> {
    name: &'a str,
    above: Option<Rc<Path<'a>>>,
}

impl<'a> Path<'a> {
    /// The last name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    fn below(self: &Rc<Self>, name: &'a str) -> Rc<Self> {
        let above = Some(self.clone());
        Rc::new(Path { name, above })
    }

    /// The names, without the root's.
    pub fn upwards(&self) -> impl Iterator<Item = &'a str> {
        let steps = std::iter::successors(Some(self), |step| step.above.as_deref());
        steps
            .filter(|step| step.above.is_some())
            .map(|step| step.name)
    }

    /// `spec.pools.selector`: the end of it, if it is longer than a note should repeat for each of many fields.
    pub fn shown(&self) -> String {
        const LONGEST: usize = 500;
        let steps = std::iter::successors(Some(self), |step| step.above.as_deref());
        let mut left = LONGEST;
        let names = steps.map_while(|step| {
            let cut = step.name.len().saturating_sub(left);
            let cut = (cut..step.name.len()).find(|at| step.name.is_char_boundary(*at));
            let end = &step.name[cut.unwrap_or(step.name.len())..];
            left -= end.len();
            (left > 0).then_some(end)
        });
        let mut names: Vec<&str> = names.collect();
        names.reverse();
        names.join(".").trim_start_matches('.').to_owned()
    }
}

/// Structures that become one type.
#[derive(Debug)]
pub struct Group<'a> {
    /// The first node, nearest to the root.
    pub schema: &'a Value,
    /// The names of the fields that lead to it, after `spec` or `status`.
    pub path: Rc<Path<'a>>,
    /// What the schema of the type contains apart from its core.
    pub rest: Map<String, Value>,
    /// The fixed name, of `spec` and `status`, and of what is shared.
    pub name: Option<String>,
    pub role: Role,
}

/// Where the type of a group comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `spec`, `status`, or all fields of the object.
    Root,
    /// A type of the file.
    Own,
    /// A type that the file imports from those that several kinds share.
    Shared,
}

/// All groups of a version, nearest to the root first.
#[derive(Debug, Default)]
pub struct Groups<'a> {
    pub all: Vec<Group<'a>>,
    /// The core of structures, and the first group of each.
    index: BTreeMap<Key, usize>,
    /// The same for core and rest together.
    exact: BTreeMap<(Key, Key), usize>,
    /// What other kinds share with this one, and the groups of what it uses.
    sharing: Sharing<'a>,
    shared: BTreeMap<usize, usize>,
}

/// The structures that are fields, by their core.
#[derive(Default)]
struct Fields<'a> {
    uses: BTreeMap<Key, Vec<Pending<'a>>>,
    order: Vec<Key>,
}

impl<'a> Fields<'a> {
    fn add(&mut self, key: Key, next: Pending<'a>) {
        let uses = self.uses.entry(key).or_default();
        if uses.is_empty() {
            self.order.push(key);
        }
        uses.push(next);
    }
}

struct Pending<'a> {
    schema: &'a Value,
    path: Rc<Path<'a>>,
    at: Use,
}

impl<'a> Groups<'a> {
    /// Collects the groups below `roots`, which are types with a name of their own. What is `shared` becomes no type of the file.
    pub fn collect(roots: &[(String, &'a Value)], shared: &'a [SharedType]) -> Self {
        let mut groups = Groups {
            sharing: Sharing::new(roots, shared),
            ..Groups::default()
        };
        let mut pending = VecDeque::new();
        for (name, schema) in roots {
            let path = Rc::new(Path {
                name: origin(name),
                above: None,
            });
            pending.extend(children(schema, &path));
            groups.all.push(Group {
                schema,
                path,
                rest: rest(schema),
                name: Some(name.clone()),
                role: Role::Root,
            });
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
            if groups.is_shared(&next) {
                continue;
            }
            let key = core(next.schema);
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
                    role: Role::Own,
                };
                self.add(key, group);
            }
        }
    }

    fn add(&mut self, core: Key, group: Group<'a>) {
        let at = self.all.len();
        self.index.entry(core).or_insert(at);
        self.exact
            .entry((core, key(group.rest.iter())))
            .or_insert(at);
        self.all.push(group);
    }

    /// Structures in lists and maps are one type only if nothing of their schemas differs.
    fn item(&mut self, core: Key, next: &Pending<'a>) {
        let rest = rest(next.schema);
        if self.exact.contains_key(&(core, key(rest.iter()))) {
            return;
        }
        let group = Group {
            schema: next.schema,
            path: next.path.clone(),
            rest,
            name: None,
            role: Role::Own,
        };
        self.add(core, group);
    }

    /// Whether a node is of a shared type, which has a group from then on.
    fn is_shared(&mut self, next: &Pending<'a>) -> bool {
        let Some((at, shared)) = self.sharing.find(next.schema, next.at, next.path.name) else {
            return false;
        };
        self.shared.entry(at).or_insert_with(|| {
            self.all.push(Group {
                schema: next.schema,
                path: next.path.clone(),
                rest: shared.rest.clone(),
                name: Some(shared.name.clone()),
                role: Role::Shared,
            });
            self.all.len() - 1
        });
        true
    }

    /// The same groups without those that are not `kept`; a name for each of these.
    pub fn only(mut self, kept: &BTreeMap<usize, String>) -> Self {
        let places: BTreeMap<usize, usize> = kept.keys().copied().zip(0..).collect();
        let all = std::mem::take(&mut self.all).into_iter().enumerate();
        let kept = all.filter_map(|(at, group)| {
            let name = Some(kept.get(&at)?.clone());
            Some(Group { name, ..group })
        });
        self.all = kept.collect();
        self.index.retain(|_, at| moved(at, &places));
        self.exact.retain(|_, at| moved(at, &places));
        self
    }

    /// The group of a node that is the field `name`, or an item of it.
    pub fn find(&self, schema: &Value, at: Use, name: &str) -> Option<usize> {
        if let Some((shared, _)) = self.sharing.find(schema, at, name) {
            return self.shared.get(&shared).copied();
        }
        let core = core(schema);
        let exact = self.exact.get(&(core, key(rest(schema).iter())));
        let any = || self.index.get(&core).filter(|_| at == Use::Field);
        exact.or_else(any).copied()
    }
}

fn moved(at: &mut usize, places: &BTreeMap<usize, usize>) -> bool {
    let place = places.get(at);
    *at = place.copied().unwrap_or_default();
    place.is_some()
}

/// The field of the object that a type with a fixed name is for; empty for all fields.
fn origin(name: &str) -> &'static str {
    let origins = [("Spec", "spec"), ("Status", "status")];
    let mut origins = origins.iter().filter(|(end, _)| name.ends_with(end));
    origins.next().map_or("", |(_, origin)| origin)
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
fn children<'a>(schema: &'a Value, path: &Rc<Path<'a>>) -> Vec<Pending<'a>> {
    let below = |schema, at| {
        vec![Pending {
            schema,
            path: path.clone(),
            at,
        }]
    };
    match node(schema) {
        Node::List(items) => below(items, Use::Item),
        Node::Map(values) => below(values, Use::Item),
        Node::Struct | Node::Known(_) => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let pending = fields.map(|(name, schema)| Pending {
                schema,
                path: path.below(name),
                at: Use::Field,
            });
            pending.collect()
        }
        _ => Vec::new(),
    }
}
