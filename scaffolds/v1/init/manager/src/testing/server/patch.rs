//! Patches, and JSON as the API server stores it.

use serde_json::{Map, Value};

/// A JSON merge patch (RFC 7396).
pub(super) fn merge(value: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *value = patch;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    for (name, new) in patch {
        if new.is_null() {
            value.as_object_mut().map(|object| object.remove(&name));
        } else {
            merge(&mut value[name], new);
        }
    }
}

/// A JSON patch (RFC 6902).
///
/// # Errors
/// Why it does not fit.
pub(super) fn json_patch(value: &mut Value, steps: &Value) -> Result<(), String> {
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
            "replace" => {
                *value.pointer_mut(path).ok_or_else(missing)? = step["value"].clone();
            }
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

/// The value that holds the one at `path`, and its name in that.
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

/// The API server stores no fields that are `null`.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let fields = object.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                fields
                    .map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            json!([{"op": "replace", "path": "/none", "value": 1}]),
            json!([{"op": "remove", "path": "/a/3"}]),
            json!([{"op": "shift", "path": "/a"}]),
            json!({}),
        ] {
            assert!(json_patch(&mut value, &patch).is_err(), "{patch}");
        }
    }
}
