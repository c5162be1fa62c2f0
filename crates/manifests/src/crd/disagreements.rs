//! Versions of one kind that contradict each other.

use serde_json::{Value, json};

use super::part::{conversion, name, versions};
use crate::problem::Problem;

/// A problem for each served version that the kind's conversion does not know: reading objects in that version would fail.
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
            let text = format!("`{kind}` of group `{group}`: `{name}` is served, but nothing converts it");
            Problem::new(text).help(format!(
                "`kbr create webhook --group {group} --version … --kind {kind} --conversion --spoke {name}`, with the version of the hub; or stop serving it: `served = false` in its `#[kube(…)]`"
            ))
        })
        .collect()
}

/// A problem for each field that a CRD has only once, but for which the versions of a kind have different values.
pub fn disagreements(group: &str, kind: &str, first: &Value, other: &Value) -> Vec<Problem> {
    let version = |part: &Value| name(&part["spec"]["versions"][0]).to_owned();
    let differ = |what: &str, a: &Value, b: &Value| {
        let (first, other) = (version(first), version(other));
        let text = format!(
            "`{kind}` of group `{group}`: {what} is `{a}` in `{first}` and `{b}` in `{other}`, but versions share it"
        );
        Problem::new(text).help("write the same value in `#[kube(…)]` of both")
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
