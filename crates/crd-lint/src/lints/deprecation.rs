//! The warning of a deprecated version.

use serde_json::{Value, json};

use crate::lint::Hit;

/// Checks that the API server can send the deprecation warning.
pub fn check(version: &Value, found: &mut Vec<Hit>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut error = |text: &str| {
        found.push(Hit::new(
            "",
            text,
            "write `deprecated = \"<one line>\"`, or only `deprecated`",
        ));
    };
    if warning.is_empty() {
        error("the warning of a deprecated version is empty");
    }
    if warning.len() > 256 {
        error("the warning of a deprecated version is longer than 256 bytes");
    }
    if warning.chars().any(char::is_control) {
        error("the warning of a deprecated version has more than one line");
    }
    if version["deprecated"] != json!(true) {
        error("a version that is not deprecated has a deprecation warning");
    }
}
