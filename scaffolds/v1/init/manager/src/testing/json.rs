//! What an API server does with JSON: selectors and patches.

use serde_json::{Map, Value};

/// Whether the labels of an object fit a selector of the form `a=b,c!=d,e`.
pub(super) fn selected(object: &Value, selector: &str) -> bool {
    let label = |name: &str| {
        object["metadata"]["labels"][name.trim()]
            .as_str()
            .map(str::to_owned)
    };
    selector
        .split(',')
        .filter(|term| !term.is_empty())
        .all(|term| {
            match term
                .split_once("!=")
                .map(|pair| (pair, false))
                .or_else(|| term.split_once('=').map(|pair| (pair, true)))
            {
                Some(((name, value), equal)) => {
                    (label(name).as_deref() == Some(value.trim_start_matches('=').trim())) == equal
                }
                None => label(term).is_some(),
            }
        })
}

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

/// A JSON patch (RFC 6902), as far as `test`, `add`, `replace` and `remove`; `None` if it does not fit.
pub(super) fn json_patch(value: &mut Value, steps: &Value) -> Option<()> {
    for step in steps.as_array()? {
        let path = step["path"].as_str()?;
        let (parent, field) = path.rsplit_once('/')?;
        let field = field.replace("~1", "/").replace("~0", "~");
        match step["op"].as_str()? {
            "test" => {
                let found = value.pointer(path).unwrap_or(&Value::Null);
                (*found == step["value"]).then_some(())?;
            }
            "remove" => match value.pointer_mut(parent)? {
                Value::Object(object) => drop(object.remove(&field)?),
                Value::Array(items) => {
                    let at = field.parse().ok().filter(|at| *at < items.len())?;
                    items.remove(at);
                }
                _ => return None,
            },
            op @ ("add" | "replace") => match value.pointer_mut(parent)? {
                Value::Object(object) => drop(object.insert(field, step["value"].clone())),
                Value::Array(items) if field == "-" => items.push(step["value"].clone()),
                Value::Array(items) => {
                    let at: usize = field.parse().ok().filter(|at| *at <= items.len())?;
                    if op == "add" {
                        items.insert(at, step["value"].clone());
                    } else {
                        *items.get_mut(at)? = step["value"].clone();
                    }
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(())
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
    fn labels_are_selected() {
        let object = json!({"metadata": {"labels": {"a": "b"}}});
        for selector in ["", "a", "a=b", "a==b", "c!=d", "a=b,c!=d"] {
            assert!(selected(&object, selector), "{selector}");
        }
        for selector in ["c", "a=c", "a!=b", "a=b,c=d"] {
            assert!(!selected(&object, selector), "{selector}");
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
        ]);
        assert_eq!(json_patch(&mut value, &patch), Some(()));
        assert_eq!(value, json!({"a": [2, 4], "b/c": 5}));
        let patch = json!([{"op": "test", "path": "/a/0", "value": 1}]);
        assert_eq!(json_patch(&mut value, &patch), None);
    }
}
