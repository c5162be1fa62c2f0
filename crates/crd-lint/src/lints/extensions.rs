//! `x-kubernetes-*` extensions must not contradict each other or the type.

use serde_json::json;

use crate::lint::Hit;
use crate::node::Node;

use super::keywords::{ANYTHING, EMBEDDED, INT_OR_STRING, PRESERVE};

/// Checks that extensions do not contradict each other or the type.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let mut error = |text: &str, help: &str| found.push(Hit::new(&node.path, text, help));
    if node.get(PRESERVE) == &json!(false) {
        error(&format!("`{PRESERVE}` can only be true"), "remove it");
    }
    if node.is(INT_OR_STRING) && (node.is(PRESERVE) || node.is(EMBEDDED)) {
        error(
            &format!("`{INT_OR_STRING}` cannot be combined with other `x-kubernetes-…` keywords"),
            "remove the other keywords",
        );
    }
    if node.is(EMBEDDED) {
        if node.text("type") != "object" {
            error(
                "an embedded object must have the type `object`",
                "add `\"type\" = \"object\"` to `extend(…)`",
            );
        }
        if !node.get("additionalProperties").is_null() {
            error(
                "an embedded object cannot be a map",
                "use `#[schemars(schema_with = \"…\")]` with a function that returns `schemars::json_schema!({ \"type\": \"object\", \"x-kubernetes-embedded-resource\": true, \"x-kubernetes-preserve-unknown-fields\": true })`",
            );
        } else if !node.is(PRESERVE)
            && node
                .get("properties")
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
        {
            error(
                "an embedded object without fields would lose its content",
                ANYTHING,
            );
        }
        if node.meta {
            error(
                "`metadata` cannot contain an embedded object",
                "move it to a field of `spec`",
            );
        }
    }
}
