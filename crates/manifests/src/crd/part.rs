//! A CRD with a single version, as printed by the derive macro.

use serde_json::{Value, json};

/// The list of versions, with a single item.
pub fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The name of a version.
pub fn name(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

/// Whether this is the storage version.
pub fn stored(version: &Value) -> bool {
    version["storage"] == json!(true)
}

/// The conversion of `part`, if it has a webhook strategy.
pub fn conversion(part: &Value) -> Option<&Value> {
    let conversion = &part["spec"]["conversion"];
    (conversion["strategy"] == json!("Webhook")).then_some(conversion)
}
