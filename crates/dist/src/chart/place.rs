//! Finds the parts of the manager's Deployment that a chart's users can set.

use serde_json::{Value, json};

use super::condition::Cases;
use super::merge::{Choice, Node};
use super::settings::{Form, SETTINGS, Setting};

/// A setting with its default, which `values.yaml` shows.
pub type Placed = (&'static Setting, Value);

/// Makes each part of the Deployment that can be set a [`Node::Set`]. Returns the settings with their defaults: what the Deployment has in
/// all cases, or else `null` for scalars and trees, and nothing for items and entries, which are added.
pub fn place(deployment: &mut Choice) -> Vec<Placed> {
    let place = |setting: &'static Setting| {
        let path: Vec<&str> = setting.path.split('.').collect();
        let cases = deployment.cases();
        (
            setting,
            set(deployment, &path, setting, &cases).unwrap_or_default(),
        )
    };
    SETTINGS.iter().map(place).collect()
}

/// `None` if nothing is there that could be set.
fn set(
    choice: &mut Choice,
    path: &[&str],
    setting: &'static Setting,
    scope: &Cases,
) -> Option<Value> {
    let [(cases, node)] = choice.variants.as_mut_slice() else {
        return None;
    };
    open(node, cases);
    let (key, rest) = path.split_first()?;
    let Node::Map(parts) = node else {
        return None;
    };
    if *key == "*" {
        let (_, containers) = parts.iter_mut().find(|(key, _)| key == "containers")?;
        let [(cases, list)] = containers.variants.as_mut_slice() else {
            return None;
        };
        open(list, cases);
        let Node::List(items) = list else {
            return None;
        };
        return set(items.first_mut()?, rest, setting, scope);
    }
    let position = parts.iter().position(|(other, _)| other == key);
    if !rest.is_empty() {
        let position = position.unwrap_or_else(|| {
            insert(
                parts,
                key,
                Choice {
                    variants: Vec::new(),
                },
            )
        });
        if parts[position].1.variants.is_empty() {
            return None;
        }
        return set(&mut parts[position].1, rest, setting, scope);
    }
    let position = position.unwrap_or_else(|| {
        insert(
            parts,
            key,
            Choice {
                variants: Vec::new(),
            },
        )
    });
    let part = &mut parts[position].1;
    let before = std::mem::replace(
        part,
        Choice {
            variants: Vec::new(),
        },
    );
    let adds = matches!(setting.form, Form::Items | Form::Entries);
    let default = match before.variants.as_slice() {
        _ if setting.form == Form::Items => json!([]),
        _ if setting.form == Form::Entries => json!({}),
        [(cases, Node::Same(value))] if cases == scope => value.clone(),
        _ => Value::Null,
    };
    let before = if adds || default.is_null() {
        before
    } else {
        Choice {
            variants: Vec::new(),
        }
    };
    part.variants
        .push((scope.clone(), Node::Set(setting, Box::new(before))));
    Some(default)
}

/// The value that is at a path in all cases; `*` is the manager's container.
pub fn find<'a>(choice: &'a mut Choice, path: &str) -> Option<&'a mut Value> {
    let mut choice = choice;
    for key in path.split('.') {
        let keys: &[&str] = if key == "*" {
            &["containers", ""]
        } else {
            &[key]
        };
        for key in keys {
            let [(cases, node)] = choice.variants.as_mut_slice() else {
                return None;
            };
            open(node, cases);
            choice = match node {
                Node::Map(parts) => &mut parts.iter_mut().find(|(other, _)| other == key)?.1,
                Node::List(items) => items.first_mut()?,
                _ => return None,
            };
        }
    }
    match choice.variants.as_mut_slice() {
        [(_, Node::Same(value))] => Some(value),
        _ => None,
    }
}

/// In the order of keys, as in all other files.
fn insert(parts: &mut Vec<(String, Choice)>, key: &str, part: Choice) -> usize {
    let position = parts.partition_point(|(other, _)| other.as_str() < key);
    parts.insert(position, (key.to_owned(), part));
    position
}

/// Turns a mapping or list that is the same in all cases into parts, each the same in all cases.
pub fn open(node: &mut Node, cases: &Cases) {
    let same = |value: &Value| Choice {
        variants: vec![(cases.clone(), Node::Same(value.clone()))],
    };
    let opened = match node {
        Node::Same(Value::Object(map)) if !map.is_empty() => Node::Map(
            map.iter()
                .map(|(key, value)| (key.clone(), same(value)))
                .collect(),
        ),
        Node::Same(Value::Array(items)) if !items.is_empty() => {
            Node::List(items.iter().map(same).collect())
        }
        _ => return,
    };
    *node = opened;
}
