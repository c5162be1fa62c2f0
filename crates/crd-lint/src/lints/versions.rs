//! The versions of a definition.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::definition::Definition;
use crate::lint::Hit;

/// Checks that the value is a definition.
pub fn definition(definition: &Definition, found: &mut Vec<Hit>) {
    if !definition.is_sound() {
        let text =
            "not a CustomResourceDefinition of `apiextensions.k8s.io/v1` that has `spec.versions`";
        found.push(Hit::new("", text, "pass the whole object"));
    }
}

/// Checks that exactly one version is the storage version.
pub fn stored(definition: &Definition, found: &mut Vec<Hit>) {
    let is_stored = |version: &&Value| version["storage"] == json!(true);
    let stored = definition.versions().iter().filter(is_stored);
    match stored.map(name).collect::<Vec<_>>()[..] {
        [_] => {}
        [] => found.push(Hit::new(
            "",
            "no version is stored",
            "remove `storage = false` from `#[kube(…)]` of one version",
        )),
        ref several => {
            let list: Vec<_> = several.iter().map(|name| format!("`{name}`")).collect();
            let text = format!(
                "{} are all storage versions, but only one is allowed",
                list.join(" and ")
            );
            let help = "`storage` defaults to true: add `#[kube(storage = false)]` to all versions but one";
            found.push(Hit::new("", text, help));
        }
    }
}

/// Checks that a version is served.
pub fn served(definition: &Definition, found: &mut Vec<Hit>) {
    let is_served = |version: &Value| version["served"] != json!(false);
    if !definition.versions().iter().any(is_served) {
        found.push(Hit::new(
            "",
            "no version is served",
            "remove `served = false` from `#[kube(…)]` of one version",
        ));
    }
}

/// Checks that the names of versions are unique.
pub fn duplicates(definition: &Definition, found: &mut Vec<Hit>) {
    let mut seen = BTreeSet::new();
    for name in definition.versions().iter().map(name) {
        if !seen.insert(name) {
            let text = format!("duplicate version `{name}`");
            found.push(Hit::new("", text, "list each version once"));
        }
    }
}

fn name(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(versions: &[(&str, bool, bool)]) -> Vec<String> {
        let version = |(name, served, storage): &(&str, bool, bool)| json!({ "name": name, "served": served, "storage": storage });
        let versions: Vec<Value> = versions.iter().map(version).collect();
        let crd = json!({ "spec": { "versions": versions } });
        let mut found = Vec::new();
        for check in [stored, served, duplicates] {
            check(&Definition(&crd), &mut found);
        }
        found.into_iter().map(|hit| hit.message).collect()
    }

    #[test]
    fn one_stored_version_and_any_served_one_are_enough() {
        assert_eq!(report(&[("v1", true, true)]), [""; 0]);
        assert_eq!(report(&[("v2", false, true), ("v1", true, false)]), [""; 0]);
    }

    #[test]
    fn contradicting_versions_are_reported() {
        assert_eq!(
            report(&[("v2", true, true), ("v1", true, true)]),
            ["`v2` and `v1` are all storage versions, but only one is allowed"]
        );
        assert_eq!(report(&[("v1", true, false)]), ["no version is stored"]);
        assert_eq!(report(&[("v1", false, true)]), ["no version is served"]);
        assert_eq!(
            report(&[("v1", true, true), ("v1", true, false)]),
            ["duplicate version `v1`"]
        );
    }
}
