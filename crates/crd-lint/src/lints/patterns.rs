//! Patterns in the syntax of Go's `regexp`, which has no look-around and no back-references, and is not quite Rust's.

use crate::lint::Hit;
use crate::node::Node;
use crate::re2::translate;

/// Whether Go's `regexp` reads the patterns of a schema and of what restricts it.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let mut schemas = vec![node.schema];
    while let Some(schema) = schemas.pop() {
        if let Some(Err(reason)) = schema["pattern"].as_str().map(translate) {
            let text = format!(
                "the API server cannot read the pattern `{}`: {reason}",
                schema["pattern"].as_str().unwrap_or_default()
            );
            let help = "patterns have Go's syntax (RE2); say the rest as a rule: `#[x_kube(validation = …)]`";
            found.push(Hit::new(&node.path, text, help));
        }
        for key in ["anyOf", "allOf", "oneOf"] {
            schemas.extend(schema[key].as_array().into_iter().flatten());
        }
        schemas.push(&schema["not"]);
        schemas.retain(|schema| schema.is_object());
    }
}
