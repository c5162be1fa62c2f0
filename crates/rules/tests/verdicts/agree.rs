//! When two verdicts are the same. The comparison with a real API server, in `crates/manager/tests/real`, uses this file, too.

use serde_json::Value;

/// Whether ours is the verdict of a real API server.
///
/// For the alternatives of a schema (`anyOf` and others), that also names what is wrong with the nearest one. What it cannot even decode
/// is rejected here, too.
pub fn agree(schema: &Value, real: &Value, ours: &Value) -> bool {
    let text = schema.to_string();
    let keys = ["anyOf", "oneOf", "allOf", "\"not\""];
    let has_alternatives = keys.iter().any(|key| text.contains(key));
    match (real["causes"].as_array(), ours["causes"].as_array()) {
        (Some(real), Some(ours)) if has_alternatives => {
            ours.iter().all(|cause| real.contains(cause))
        }
        (None, Some(_)) if real["code"] == 400 => true,
        _ => real == ours,
    }
}
