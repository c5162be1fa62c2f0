//! Which versions a definition has.

use serde_json::{Value, json};

use crate::definition::Definition;
use crate::lint::Hit;

/// Whether it is a definition at all.
pub fn definition(definition: &Definition, found: &mut Vec<Hit>) {
    if !definition.is_sound() {
        let text =
            "not a CustomResourceDefinition of `apiextensions.k8s.io/v1` that has `spec.versions`";
        found.push(Hit::new("", text, "give the whole object"));
    }
}

/// Whether exactly one version is stored.
pub fn stored(definition: &Definition, found: &mut Vec<Hit>) {
    let is_stored = |version: &&Value| version["storage"] == json!(true);
    let stored = definition.versions().iter().filter(is_stored);
    match stored.map(name).collect::<Vec<_>>()[..] {
        [_] => {}
        [] => found.push(Hit::new(
            "",
            "no version is stored",
            "leave `storage = false` out of `#[kube(…)]` of one version",
        )),
        ref several => {
            let list: Vec<_> = several.iter().map(|name| format!("`{name}`")).collect();
            let text = format!("{} are all stored, only one may be", list.join(" and "));
            let help = "`storage` is true unless `#[kube(storage = false)]` says otherwise: write that for all versions but one";
            found.push(Hit::new("", text, help));
        }
    }
}

/// Whether any version is served.
pub fn served(definition: &Definition, found: &mut Vec<Hit>) {
    let is_served = |version: &Value| version["served"] != json!(false);
    if !definition.versions().iter().any(is_served) {
        found.push(Hit::new(
            "",
            "no version is served",
            "leave `served = false` out of `#[kube(…)]` of one version",
        ));
    }
}

/// Whether each version has a name of its own.
pub fn twice(definition: &Definition, found: &mut Vec<Hit>) {
    let names: Vec<&str> = definition.versions().iter().map(name).collect();
    for (position, name) in names.iter().enumerate() {
        if names[..position].contains(name) {
            let text = format!("two versions are called `{name}`");
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

    fn said(versions: &[(&str, bool, bool)]) -> Vec<String> {
        let version = |(name, served, storage): &(&str, bool, bool)| json!({ "name": name, "served": served, "storage": storage });
        let versions: Vec<Value> = versions.iter().map(version).collect();
        let crd = json!({ "spec": { "versions": versions } });
        let mut found = Vec::new();
        for check in [stored, served, twice] {
            check(&Definition(&crd), &mut found);
        }
        found.into_iter().map(|hit| hit.message).collect()
    }

    #[test]
    fn one_stored_version_and_any_served_one_are_enough() {
        assert_eq!(said(&[("v1", true, true)]), [""; 0]);
        assert_eq!(said(&[("v2", false, true), ("v1", true, false)]), [""; 0]);
    }

    #[test]
    fn versions_that_do_not_go_together_are_found() {
        assert_eq!(
            said(&[("v2", true, true), ("v1", true, true)]),
            ["`v2` and `v1` are all stored, only one may be"]
        );
        assert_eq!(said(&[("v1", true, false)]), ["no version is stored"]);
        assert_eq!(said(&[("v1", false, true)]), ["no version is served"]);
        assert_eq!(
            said(&[("v1", true, true), ("v1", true, false)]),
            ["two versions are called `v1`"]
        );
    }
}
