//! A definition of one version, as derives print it.

use serde_json::{Value, json};

/// Its versions, of which it has one.
pub fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The name of a version.
pub fn name(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

/// Whether objects are stored as this version.
pub fn stored(version: &Value) -> bool {
    version["storage"] == json!(true)
}

/// How objects are converted, if `part` says that they are.
pub fn conversion(part: &Value) -> Option<&Value> {
    let conversion = &part["spec"]["conversion"];
    (conversion["strategy"] == json!("Webhook")).then_some(conversion)
}
