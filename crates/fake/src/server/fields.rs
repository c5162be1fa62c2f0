//! Sets of fields: of an object, of a difference, or of a manager.
//!
//! Source: `sigs.k8s.io/structured-merge-diff/v6`, `fieldpath/set.go`, `typed/tofieldset.go`, `typed/compare.go`,
//! `typed/remove.go`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::shape::{Merges, Shape, keys_of};

/// One step on the path to a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Into a field of an object.
    Field(String),
    /// To the item of a keyed list with these keys, as JSON.
    Keys(String),
    /// To a value in a set, as JSON.
    Value(String),
}

/// The path to a field.
pub(super) type Way = Vec<Step>;

/// A set of fields, by their paths.
pub(super) type Fields = BTreeSet<Way>;

/// The step to an item of a list.
pub(super) fn step(item: &Value, merges: &Merges) -> Step {
    match merges {
        Merges::Keyed(keys) => Step::Keys(Value::Object(keys_of(item, keys)).to_string()),
        _ => Step::Value(item.to_string()),
    }
}

/// The path `to` with one more step.
fn further(to: &Way, step: Step) -> Way {
    let mut way = to.clone();
    way.push(step);
    way
}

/// The fields of an object.
pub(super) fn fields(value: &Value, shape: &Shape<'_>) -> Fields {
    let mut found = Fields::new();
    collect(value, shape, &Way::new(), &mut found);
    found
}

fn collect(value: &Value, shape: &Shape<'_>, to: &Way, found: &mut Fields) {
    match (shape.merges([Some(value), None]), value) {
        (Merges::Fields, Value::Object(object)) => {
            for (name, value) in object {
                let way = further(to, Step::Field(name.clone()));
                collect(value, &shape.field(name), &way, found);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !shape.declares(name) {
                    found.insert(way);
                }
            }
        }
        (merges @ (Merges::Set | Merges::Keyed(_)), Value::Array(items)) => {
            for item in items {
                let way = further(to, step(item, &merges));
                collect(item, &shape.item(), &way, found);
                found.insert(way);
            }
        }
        _ => drop(found.insert(to.clone())),
    }
}

/// How an object has changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Fields that are new or have another value.
    pub(super) changed: Fields,
    pub(super) removed: Fields,
}

/// Whether two values are both objects, both lists, or neither. `null` is like any other value.
pub(super) fn are_alike(one: &Value, other: &Value) -> bool {
    one.is_null()
        || other.is_null()
        || (one.is_object() == other.is_object() && one.is_array() == other.is_array())
}

/// How `old` became `new`.
pub(super) fn compare(old: &Value, new: &Value, shape: &Shape<'_>) -> Changes {
    let mut changes = Changes::default();
    compare_at(Some(old), Some(new), shape, &Way::new(), &mut changes);
    changes
}

fn compare_at(
    old: Option<&Value>,
    new: Option<&Value>,
    shape: &Shape<'_>,
    to: &Way,
    changes: &mut Changes,
) {
    if let (Some(before), Some(after)) = (old, new)
        && !are_alike(before, after)
    {
        changes.changed.insert(to.clone());
        for [old, new] in [[old, None], [None, new]] {
            let merges = shape.merges([old, new]);
            if merges != Merges::Whole {
                for (step, shape, old, new) in pairs(old, new, shape, &merges) {
                    compare_at(old, new, &shape, &further(to, step), changes);
                }
            }
        }
        return;
    }
    let merges = shape.merges([old, new]);
    let empty = |value: Option<&Value>| match value {
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    };
    let leaf = merges == Merges::Whole || empty(old) && empty(new);
    if !leaf {
        for (step, shape, old, new) in pairs(old, new, shape, &merges) {
            compare_at(old, new, &shape, &further(to, step), changes);
        }
    }
    match (old, new) {
        (None, Some(_)) => drop(changes.changed.insert(to.clone())),
        (Some(_), None) => drop(changes.removed.insert(to.clone())),
        _ if leaf && old != new => drop(changes.changed.insert(to.clone())),
        _ => {}
    }
}

type Pair<'v, 's> = (Step, Shape<'s>, Option<&'v Value>, Option<&'v Value>);

/// The children of two values, in pairs.
fn pairs<'v, 's>(
    old: Option<&'v Value>,
    new: Option<&'v Value>,
    shape: &Shape<'s>,
    merges: &Merges,
) -> Vec<Pair<'v, 's>> {
    if *merges == Merges::Fields {
        let (old, new) = (
            old.and_then(Value::as_object),
            new.and_then(Value::as_object),
        );
        let names: BTreeSet<_> = [old, new]
            .into_iter()
            .flatten()
            .flat_map(Map::keys)
            .collect();
        let pair = |name: &String| {
            let find = |object: Option<&'v Map<_, _>>| object.and_then(|object| object.get(name));
            (
                Step::Field(name.clone()),
                shape.field(name),
                find(old),
                find(new),
            )
        };
        return names.into_iter().map(pair).collect();
    }
    let items = |list: Option<&'v Value>| list.and_then(Value::as_array).into_iter().flatten();
    let steps: BTreeSet<_> = items(old)
        .chain(items(new))
        .map(|item| step(item, merges))
        .collect();
    let pair = |at: Step| {
        let find = |list| items(list).find(|item| step(item, merges) == at);
        let (old, new) = (find(old), find(new));
        (at, shape.item(), old, new)
    };
    steps.into_iter().map(pair).collect()
}

/// Whether the set contains a field below `way`.
fn any_below(fields: &Fields, way: &Way) -> bool {
    let mut after = fields.range(way.clone()..);
    after.any(|found| found.len() > way.len() && found.starts_with(way))
}

/// An object without these fields; `null` if nothing is left.
pub(super) fn without(value: &Value, gone: &Fields, shape: &Shape<'_>) -> Value {
    without_at(value, gone, shape, &Way::new())
}

fn without_at(value: &Value, gone: &Fields, shape: &Shape<'_>, to: &Way) -> Value {
    let keep = |step: Step, value: &Value, shape: &Shape<'_>| {
        let way = further(to, step);
        if gone.contains(&way) {
            None
        } else if any_below(gone, &way) {
            Some(without_at(value, gone, shape, &way))
        } else {
            Some(value.clone())
        }
    };
    match (shape.merges([Some(value), None]), value) {
        (Merges::Fields, Value::Object(object)) => {
            let kept: Map<_, _> = object
                .iter()
                .filter_map(|(name, value)| {
                    let kept = keep(Step::Field(name.clone()), value, &shape.field(name))?;
                    Some((name.clone(), kept))
                })
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                kept.into()
            }
        }
        (merges @ (Merges::Set | Merges::Keyed(_)), Value::Array(items)) => {
            let kept: Vec<_> = items
                .iter()
                .filter_map(|item| keep(step(item, &merges), item, &shape.item()))
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                kept.into()
            }
        }
        (_, Value::Object(_) | Value::Array(_)) => Value::Null,
        _ => value.clone(),
    }
}

/// These fields, and all declared fields on the paths to them.
pub(super) fn with_parents(fields: &Fields, shape: &Shape<'_>) -> Fields {
    let mut all = fields.clone();
    for way in fields {
        let mut shape = shape.clone();
        for (at, step) in way.iter().enumerate() {
            match step {
                Step::Field(name) => {
                    if at + 1 < way.len() && shape.declares(name) {
                        all.insert(way[..=at].to_vec());
                    }
                    shape = shape.field(name);
                }
                Step::Keys(_) | Step::Value(_) => shape = shape.item(),
            }
        }
    }
    all
}

/// The fields in the format of `managedFields`: `{"f:spec": {"f:size": {}}}`.
pub(super) fn v1(fields: &Fields) -> Value {
    let mut tree = json!({});
    for way in fields {
        let mut node = &mut tree;
        for step in way {
            let name = match step {
                Step::Field(name) => format!("f:{name}"),
                Step::Keys(keys) => format!("k:{keys}"),
                Step::Value(value) => format!("v:{value}"),
            };
            let next = &mut node[name];
            if next.is_null() {
                *next = json!({});
            }
            node = next;
        }
        if any_below(fields, way) {
            node["."] = json!({});
        }
    }
    tree
}

/// The fields in a set of this format; `None` if it has another one.
pub(super) fn of_v1(tree: &Value) -> Option<Fields> {
    let mut found = Fields::new();
    of_v1_at(tree, &Way::new(), &mut found)?;
    Some(found)
}

fn of_v1_at(tree: &Value, to: &Way, found: &mut Fields) -> Option<()> {
    for (name, below) in tree.as_object()? {
        let step = match name.split_once(':') {
            None if name == "." => {
                found.insert(to.clone());
                continue;
            }
            Some(("f", name)) => Step::Field(name.to_owned()),
            Some(("k", keys)) => Step::Keys(keys.to_owned()),
            Some(("v", value)) => Step::Value(value.to_owned()),
            _ => return None,
        };
        let way = further(to, step);
        if below.as_object()?.is_empty() {
            found.insert(way);
        } else {
            of_v1_at(below, &way, found)?;
        }
    }
    Some(())
}

/// The JSON pointer to a field of an object; `None` if the object does not have it.
pub(super) fn pointer(way: &Way, object: &Value) -> Option<String> {
    let (mut pointer, mut value) = (String::new(), object);
    for step in way {
        let next = match step {
            Step::Field(name) => name.replace('~', "~0").replace('/', "~1"),
            Step::Keys(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).ok()?;
                let is_meant = |item: &Value| keys.iter().all(|(key, value)| item[key] == *value);
                value.as_array()?.iter().position(is_meant)?.to_string()
            }
            Step::Value(wanted) => {
                let wanted: Value = serde_json::from_str(wanted).ok()?;
                let mut items = value.as_array()?.iter();
                items.position(|item| *item == wanted)?.to_string()
            }
        };
        pointer = format!("{pointer}/{next}");
        value = object.pointer(&pointer)?;
    }
    Some(pointer)
}

/// A path in the format of messages: `.spec.ports[port=80,protocol="TCP"].name`.
pub(super) fn show(way: &Way) -> String {
    let show = |step: &Step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Value(value) => format!("[={value}]"),
        Step::Keys(keys) => {
            let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let keys: Vec<_> = keys
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("[{}]", keys.join(","))
        }
    };
    way.iter().map(show).collect()
}
