//! JSON merge patches.

use serde_json::{Map, Value};

/// Applies a JSON merge patch (RFC 7396): objects are merged, `null` removes a field, anything else replaces.
pub fn merge(value: &mut Value, patch: Value) {
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
