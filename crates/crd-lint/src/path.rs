//! Field paths of printer columns, selectable fields and `scale`.

use serde_json::{Value, json};

use crate::lint::Hit;
use apiserver_rules::nearest;

/// The problem of `path`, if it is not the path of a field. `what` is the subject of the message.
pub fn unknown(schema: &Value, path: &str, what: &str) -> Option<Hit> {
    let Some(rest) = path.strip_prefix('.') else {
        let text = format!("{what} does not begin with `.`");
        return Some(Hit::new("", text, format!("write `.{path}`")));
    };
    let mut schema = schema;
    for (position, step) in steps(rest)?.iter().enumerate() {
        // A CRD has no schema for metadata, whose fields are the same for every kind.
        if position == 0 && ["metadata", "apiVersion", "kind"].contains(&step.name.as_str()) {
            return None;
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == json!(true) {
            return None;
        }
        let fields = schema["properties"].as_object()?;
        let Some(field) = fields.get(&step.name) else {
            let near = nearest(&step.name, fields.keys().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean `{near}`"),
                None => "use the name of the field in YAML".to_owned(),
            };
            let text = format!("{what}: unknown field `{}`", step.name);
            return Some(Hit::new("", text, help));
        };
        schema = if step.indexed { &field["items"] } else { field };
    }
    None
}

/// One field of a path, with an optional index or filter.
struct Step {
    name: String,
    indexed: bool,
}

/// The steps of `a.b[0].c`, `a[?(@.b=="c")].d`, `a\.b`; `None` for more complex paths, which are left to the API server.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let (mut name, mut indexed) = (String::new(), false);
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.push(characters.next()?),
            '.' => {
                steps.push(Step {
                    name: std::mem::take(&mut name),
                    indexed: std::mem::take(&mut indexed),
                });
            }
            '[' if !indexed => {
                let inside: String = characters
                    .by_ref()
                    .take_while(|character| *character != ']')
                    .collect();
                // `['name']` is a field; a `]` in a filter would end it too early.
                if inside.starts_with(['\'', '"'])
                    || !inside.matches(['\'', '"']).count().is_multiple_of(2)
                {
                    return None;
                }
                indexed = true;
            }
            '*' | '[' | ']' | '{' | '}' => return None,
            _ if indexed => return None,
            character => name.push(character),
        }
    }
    steps.push(Step { name, indexed });
    steps
        .iter()
        .all(|step| !step.name.is_empty())
        .then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "image": { "type": "string" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            } },
            "status": { "type": "object", "properties": {
                "conditions": { "type": "array", "items": { "type": "object", "properties": {
                    "type": { "type": "string" }, "status": { "type": "string" },
                } } },
            } },
        } })
    }

    fn good(path: &str) {
        assert_eq!(unknown(&schema(), path, "column"), None, "{path}");
    }

    fn bad(path: &str, reason: &str) {
        let hit = unknown(&schema(), path, "column").unwrap();
        let text = format!("{}; {}", hit.message, hit.help);
        assert!(text.contains(reason), "{path}: {text}");
    }

    #[test]
    fn paths_of_fields_are_accepted() {
        good(".spec.image");
        good(".metadata.creationTimestamp");
        good(".status.conditions[?(@.type=='Ready')].status");
        good(".status.conditions[0].status");
    }

    #[test]
    fn paths_of_unknown_fields_are_rejected() {
        bad(".spec.imgae", "did you mean `image`");
        bad(
            ".status.conditions[?(@.type==\"Ready\")].statos",
            "did you mean `status`",
        );
        bad(".speck.image", "unknown field `speck`");
        bad("spec.image", "write `.spec.image`");
    }

    #[test]
    fn complex_paths_are_left_to_the_api_server() {
        good(".spec.labels.app\\.kubernetes\\.io/name");
        good(".spec.any.thing");
        good(".spec['imgae']");
        good("..imgae");
        good(".status.conditions[*].type");
    }
}
