//! Patches, and JSON as the API server stores it.

use serde_json::Value;

use super::{kinds::Kind, shape::MAPS};

/// A JSON patch (RFC 6902).
///
/// # Errors
/// If the patch does not apply: the reason.
pub fn json_patch(value: &mut Value, steps: &Value) -> Result<(), String> {
    let steps = steps.as_array().ok_or("a JSON patch is a list")?;
    for step in steps {
        let at = |field: &str| {
            let path = step[field].as_str();
            path.ok_or_else(|| format!("a step of a JSON patch has no `{field}`: {step}"))
        };
        let (op, path) = (at("op")?, at("path")?);
        let missing = || format!("{op} operation does not apply: doc is missing path: {path:?}");
        let read = |value: &Value, path: &str| value.pointer(path).cloned().ok_or_else(missing);
        match op {
            "test" => {
                let found = value.pointer(path).unwrap_or(&Value::Null);
                if *found != step["value"] {
                    return Err(format!("testing value {path} failed"));
                }
            }
            "add" => add(value, path, step["value"].clone()).ok_or_else(missing)?,
            "remove" => drop(remove(value, path).ok_or_else(missing)?),
            // The API server creates a missing field.
            "replace" => replace(value, path, step["value"].clone()).ok_or_else(missing)?,
            "copy" => {
                let copied = read(value, at("from")?)?;
                add(value, path, copied).ok_or_else(missing)?;
            }
            "move" => {
                let moved = remove(value, at("from")?).ok_or_else(missing)?;
                add(value, path, moved).ok_or_else(missing)?;
            }
            _ => return Err(format!("unexpected kind: {op}")),
        }
    }
    Ok(())
}

/// The parent of the value at `path`, and the name of the value in it.
fn parent<'v>(value: &'v mut Value, path: &str) -> Option<(&'v mut Value, String)> {
    let (parent, name) = path.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    Some((value.pointer_mut(parent)?, name))
}

fn add(value: &mut Value, path: &str, new: Value) -> Option<()> {
    match parent(value, path)? {
        (Value::Object(object), name) => drop(object.insert(name, new)),
        (Value::Array(items), name) if name == "-" => items.push(new),
        (Value::Array(items), name) => {
            let at = name.parse().ok().filter(|at| *at <= items.len())?;
            items.insert(at, new);
        }
        _ => return None,
    }
    Some(())
}

fn replace(value: &mut Value, path: &str, new: Value) -> Option<()> {
    match parent(value, path)? {
        (Value::Object(object), name) => drop(object.insert(name, new)),
        _ => *value.pointer_mut(path)? = new,
    }
    Some(())
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    match parent(value, path)? {
        (Value::Object(object), name) => object.remove(&name),
        (Value::Array(items), name) => {
            let at = name.parse().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}

/// An object as it is stored: metadata and Kubernetes' own kinds, which are structs, lose `null` fields and empty lists and maps. Without a
/// schema, all are taken for structs.
pub(super) fn tidy(mut object: Value, kind: &Kind) -> Value {
    if kind.built_in {
        without_nulls(&mut object);
        without_empty(&mut object);
        return object;
    }
    if kind.schema.is_none() {
        without_nulls(&mut object);
    }
    if let Some(meta) = object.get_mut("metadata") {
        without_nulls(meta);
        without_empty(meta);
    }
    object
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn without_empty(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|name, value| match value {
                Value::Array(items) => !items.is_empty(),
                Value::Object(map) => !map.is_empty() || !MAPS.contains(&name.as_str()),
                _ => true,
            });
            object.values_mut().for_each(without_empty);
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use apiserver_rules::merge;
    use serde_json::{Map, json};

    use super::*;
    use crate::random::Random;

    /// Any value, among them many that are empty.
    fn any(random: &mut Random, depth: usize) -> Value {
        match random.below(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => json!({}),
            2 => json!([]),
            3 => json!(random.below(2)),
            4 => json!(""),
            5 => (0..random.below(3))
                .map(|_| any(random, depth - 1))
                .collect(),
            _ => {
                let names = ["a", "b", "c"].into_iter();
                let some: Vec<_> = names.filter(|_| random.chance()).collect();
                let field = |name: &str| (name.to_owned(), any(random, depth - 1));
                Value::Object(some.into_iter().map(field).collect())
            }
        }
    }

    /// `MergePatch` of RFC 7396, section 2, line by line.
    fn of_the_rfc(target: Option<&Value>, patch: &Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch.clone();
        };
        let mut target = match target {
            Some(Value::Object(target)) => target.clone(),
            _ => Map::new(),
        };
        for (name, value) in patch {
            if value.is_null() {
                target.remove(name);
            } else {
                let merged = of_the_rfc(target.get(name), value);
                target.insert(name.clone(), merged);
            }
        }
        Value::Object(target)
    }

    #[test]
    fn merge_patches_are_applied_as_the_rfc_says() {
        for seed in 0..20_000 {
            let mut random = Random::new(seed);
            let (target, patch) = (any(&mut random, 4), any(&mut random, 4));
            let mut merged = target.clone();
            merge(&mut merged, patch.clone());
            assert_eq!(
                merged,
                of_the_rfc(Some(&target), &patch),
                "{patch} to {target}"
            );
        }
    }

    #[test]
    fn json_patches_are_applied() {
        let mut value = json!({"a": [1, 2], "b/c": 3});
        let patch = json!([
            {"op": "test", "path": "/a/0", "value": 1},
            {"op": "add", "path": "/a/-", "value": 4},
            {"op": "remove", "path": "/a/0"},
            {"op": "replace", "path": "/b~1c", "value": 5},
            {"op": "copy", "from": "/b~1c", "path": "/a/0"},
            {"op": "move", "from": "/b~1c", "path": "/d"},
        ]);
        assert_eq!(json_patch(&mut value, &patch), Ok(()));
        assert_eq!(value, json!({"a": [5, 2, 4], "d": 5}));
        for patch in [
            json!([{"op": "test", "path": "/a/0", "value": 1}]),
            json!([{"op": "replace", "path": "/none/x", "value": 1}]),
            json!([{"op": "remove", "path": "/a/3"}]),
            json!([{"op": "shift", "path": "/a"}]),
            json!({}),
        ] {
            assert!(json_patch(&mut value, &patch).is_err(), "{patch}");
        }
    }
}
