//! Printer columns and selectable fields that name no field, which the API server would show or refuse too late.

use serde_json::{Value, json};

use super::crd::Crd;
use super::lint::places::Places;
use super::problem::{Problem, nearest};

/// Printer columns and selectable fields that name no field of their version.
pub fn check(crd: &Crd, places: &Places, problems: &mut Vec<Problem>) {
    for version in crd.versions() {
        let schema = &version["schema"]["openAPIV3Schema"];
        let name = version["name"].as_str().unwrap_or_default();
        let at = format!("`{}` of `{}/{name}`", crd.kind, crd.group);
        let place = places.way(&crd.kind, name, "").shown();
        let columns = [
            ("additionalPrinterColumns", "printer column"),
            ("selectableFields", "selectable field"),
        ];
        for (key, what) in columns {
            for path in version[key].as_array().into_iter().flatten() {
                let path = path["jsonPath"].as_str().unwrap_or_default();
                let found = unknown(schema, path, &format!("{at}: {what} `{path}`"));
                problems.extend(found.map(|problem| match &place {
                    Some(place) => problem.at(place),
                    None => problem,
                }));
            }
        }
    }
}

/// What is wrong with `path`, which `what` names at the beginning of a sentence.
pub fn unknown(schema: &Value, path: &str, what: &str) -> Option<Problem> {
    let Some(rest) = path.strip_prefix('.') else {
        return Some(
            Problem::new(format!("{what} does not begin with `.`"))
                .help(format!("write `.{path}`")),
        );
    };
    let mut schema = schema;
    for (position, step) in steps(rest)?.iter().enumerate() {
        // Metadata has no schema in a CRD, and is the same everywhere.
        if position == 0 && ["metadata", "apiVersion", "kind"].contains(&step.name.as_str()) {
            return None;
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == json!(true) {
            return None;
        }
        let fields = schema["properties"].as_object()?;
        let Some(field) = fields.get(&step.name) else {
            let near = nearest(&step.name, fields.keys().map(String::as_str));
            let problem = Problem::new(format!(
                "{what} names no field: there is no `{}`",
                step.name
            ));
            return Some(problem.did_you_mean(near));
        };
        schema = if step.indexed { &field["items"] } else { field };
    }
    None
}

/// One field of a path, perhaps with an index or filter behind it.
struct Step {
    name: String,
    indexed: bool,
}

/// The steps of `a.b[0].c`, `a[?(@.b=="c")].d`, `a\.b`; `None` for what is not that simple, which is left to the API server.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let (mut name, mut indexed) = (String::new(), false);
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?),
            '.' => {
                steps.push(Step {
                    name: std::mem::take(&mut name),
                    indexed: std::mem::take(&mut indexed),
                });
            }
            '[' if !indexed => {
                let inside: String = letters
                    .by_ref()
                    .take_while(|letter| *letter != ']')
                    .collect();
                // `['name']` is a field, and a `]` in a filter ends it too early.
                if inside.starts_with(['\'', '"'])
                    || !inside.matches(['\'', '"']).count().is_multiple_of(2)
                {
                    return None;
                }
                indexed = true;
            }
            '*' | '[' | ']' | '{' | '}' => return None,
            _ if indexed => return None,
            letter => name.push(letter),
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
        let problem = unknown(&schema(), path, "column").unwrap().to_string();
        assert!(problem.contains(reason), "{path}: {problem}");
    }

    #[test]
    fn paths_that_name_a_field_are_good() {
        good(".spec.image");
        good(".metadata.creationTimestamp");
        good(".status.conditions[?(@.type=='Ready')].status");
        good(".status.conditions[0].status");
    }

    #[test]
    fn paths_that_name_no_field_are_bad() {
        bad(".spec.imgae", "did you mean `image`");
        bad(
            ".status.conditions[?(@.type==\"Ready\")].statos",
            "did you mean `status`",
        );
        bad(".speck.image", "there is no `speck`");
        bad("spec.image", "write `.spec.image`");
    }

    #[test]
    fn paths_that_cannot_be_followed_are_left_to_the_api_server() {
        good(".spec.labels.app\\.kubernetes\\.io/name");
        good(".spec.any.thing");
        good(".spec['imgae']");
        good("..imgae");
        good(".status.conditions[*].type");
    }

    #[test]
    fn every_wrong_path_of_a_crd_is_reported_with_its_version() {
        let version = |name: &str, key: &str, path: &str| json!({ "name": name, "schema": { "openAPIV3Schema": schema() }, key: [{ "jsonPath": path }] });
        let versions = [
            version("v2", "selectableFields", "spec.image"),
            version("v1", "additionalPrinterColumns", ".spec.a"),
        ];
        let wrong = Crd {
            group: "x.io".to_owned(),
            kind: "Ship".to_owned(),
            plural: "ships".to_owned(),
            object: json!({ "spec": { "versions": versions } }),
        };
        let mut problems = Vec::new();
        check(&wrong, &Places::default(), &mut problems);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(
            problems[0].starts_with("`Ship` of `x.io/v2`: selectable field `spec.image`"),
            "{problems:?}"
        );
        assert!(
            problems[1].starts_with("`Ship` of `x.io/v1`: printer column `.spec.a`"),
            "{problems:?}"
        );
    }
}
