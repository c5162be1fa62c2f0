//! The keys of `fieldsV1` in `metadata.managedFields`, which contain values: the elements of sets, and the keys of elements of lists.
//! Source: `sigs.k8s.io/structured-merge-diff/fieldpath/serialize-pe.go`.

use serde_json::Value;

/// Replaces the JSON of each element by what `change` returns.
pub fn each_element(value: &mut Value, change: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::Array(list) => {
            for it in list {
                each_element(it, change);
            }
        }
        Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                each_element(&mut value, change);
                let element = key.strip_prefix("v:").or(key.strip_prefix("k:"));
                let key = match element.and_then(change) {
                    Some(other) => format!("{}{other}", &key[..2]),
                    None => key,
                };
                map.insert(key, value);
            }
        }
        _ => {}
    }
}
