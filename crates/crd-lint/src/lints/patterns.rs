//! Patterns must have the syntax of Go's `regexp`, without look-around and back-references. It differs slightly from Rust's.

use crate::lint::Hit;
use crate::node::Node;
use apiserver_rules::re2::translate;

/// Checks that Go's `regexp` accepts the patterns of a schema and its restrictions.
pub fn check(node: &Node, found: &mut Vec<Hit>) {
    let mut schemas = vec![node.schema];
    while let Some(schema) = schemas.pop() {
        if let Some(Err(reason)) = schema["pattern"].as_str().map(translate) {
            let text = format!(
                "the API server rejects the pattern `{}`: {reason}",
                schema["pattern"].as_str().unwrap_or_default()
            );
            found.push(Hit::new(&node.path, text, help(&reason)));
        }
        for key in ["anyOf", "allOf", "oneOf"] {
            schemas.extend(schema[key].as_array().into_iter().flatten());
        }
        schemas.push(&schema["not"]);
        schemas.retain(|schema| schema.is_object());
    }
}

/// Only how often a pattern repeats something is not a matter of syntax.
fn help(reason: &str) -> &'static str {
    if ["repeats", "not a valid count"]
        .iter()
        .any(|text| reason.contains(text))
    {
        "repeat it less often, with `#[schemars(length(max = …))]` for the length of the whole string"
    } else {
        "use Go's syntax (RE2), or write a rule: `#[x_kube(validation = …)]`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_in_gos_syntax_is_not_advised_to_use_it() {
        let help = |pattern: &str| help(&translate(pattern).unwrap_err());
        assert!(help("^[a-z]{1,1001}$").contains("length(max"));
        assert!(help("^(?=a)b$").contains("Go's syntax"));
    }
}
