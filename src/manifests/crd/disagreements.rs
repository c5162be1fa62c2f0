//! Versions of one kind that do not go together.

use serde_json::{Value, json};

use super::part::{conversion, name, versions};
use crate::manifests::problem::Problem;

/// Served versions that the conversion of their kind does not know: reading them would fail.
pub fn unconverted(group: &str, kind: &str, parts: &[&Value]) -> Vec<Problem> {
    if !parts.iter().any(|part| conversion(part).is_some()) {
        return Vec::new();
    }
    let unknown = parts.iter().filter(|part| conversion(part).is_none());
    let served = unknown
        .flat_map(|part| versions(part))
        .filter(|version| version["served"] == json!(true));
    served
        .map(|version| {
            let name = name(version);
            let text = format!("`{kind}` of group `{group}`: `{name}` is served, and nothing converts it");
            Problem::new(text).help(format!(
                "`kbr create webhook --group {group} --version … --kind {kind} --conversion --spoke {name}`, with the version of the hub; or serve it no more: `served = false` in its `#[kube(…)]`"
            ))
        })
        .collect()
}

/// What the versions of a kind say differently, although there is only one place for it.
pub fn disagreements(group: &str, kind: &str, first: &Value, other: &Value) -> Vec<Problem> {
    let version = |part: &Value| name(&part["spec"]["versions"][0]).to_owned();
    let differ = |what: &str, a: &Value, b: &Value| {
        let (first, other) = (version(first), version(other));
        let text = format!(
            "`{kind}` of group `{group}`: {what} is `{a}` in `{first}` and `{b}` in `{other}`, but versions share it"
        );
        Problem::new(text).help("write the same in `#[kube(…)]` of both")
    };
    let mut problems = Vec::new();
    for what in ["plural", "singular", "shortNames", "categories"] {
        let (a, b) = (&first["spec"]["names"][what], &other["spec"]["names"][what]);
        if a != b {
            problems.push(differ(what, a, b));
        }
    }
    if first["spec"]["scope"] != other["spec"]["scope"] {
        problems.push(differ(
            "scope",
            &first["spec"]["scope"],
            &other["spec"]["scope"],
        ));
    }
    for what in ["annotations", "labels"] {
        for (key, value) in first["metadata"][what].as_object().into_iter().flatten() {
            let theirs = &other["metadata"][what][key];
            if !theirs.is_null() && theirs != value {
                problems.push(differ(&format!("{what} `{key}`"), value, theirs));
            }
        }
    }
    problems
}
