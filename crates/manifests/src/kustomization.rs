//! Reads the kustomizations of a project.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::crd::Crd;
use super::files;
use super::problem::Problem;
use kbr_scaffold::edited;

/// Whether the operator rotates its certificate itself: whether `config/default` includes that component.
pub fn is_self_managed(root: &Path) -> anyhow::Result<bool> {
    let parsed = read(root, "config/default/kustomization.yaml")?;
    Ok(parsed.is_some_and(|parsed| has_component(&parsed, "../webhook-self-signed")))
}

fn has_component(kustomization: &Value, path: &str) -> bool {
    let mut components = texts(&kustomization["components"]);
    components.any(|component| component.trim_end_matches('/') == path)
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str)
}

/// A parsed kustomization; `None` if the file does not exist.
fn read(root: &Path, path: &str) -> anyhow::Result<Option<Value>> {
    let Some(text) = files::read(&root.join(path))? else {
        return Ok(None);
    };
    let parsed = kbr_host::yaml::document(&String::from_utf8_lossy(&text));
    let parsed = parsed.with_context(|| format!("cannot read `{path}`"))?;
    Ok(Some(parsed))
}

/// CRDs missing from `config/crd/kustomization.yaml`, which would not be installed, and listed files that no type defines.
pub fn listing(root: &Path, crds: &[Crd]) -> anyhow::Result<Vec<Problem>> {
    const PATH: &str = "config/crd/kustomization.yaml";
    let Some(parsed) = read(root, PATH)? else {
        return Ok(Vec::new());
    };
    let listed: BTreeSet<&str> = texts(&parsed["resources"]).collect();
    let lines = crds.iter().map(|crd| format!("bases/{}", crd.file()));
    let given: BTreeSet<String> = lines.collect();
    let missing = given.iter().filter(|line| !listed.contains(line.as_str()));
    let missing = missing.map(|line| {
        let text = format!("`{PATH}` does not list `{line}`, so nothing installs the CRD");
        Problem::new(text).help(format!("add `- {line}` to its `resources`"))
    });
    let written_by_user = |line: &str| {
        files::read(&root.join("config/crd").join(line))
            .is_ok_and(|text| text.is_some_and(|text| !edited::is_generated(&text)))
    };
    let orphaned = listed.iter().filter(|line| {
        line.starts_with("bases/") && !given.contains(**line) && !written_by_user(line)
    });
    let orphaned = orphaned.map(|line| {
        let text = format!("`{PATH}` lists `{line}`, but no type defines it");
        Problem::new(text).help(format!("remove `- {line}` from its `resources`"))
    });
    Ok(missing.chain(orphaned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_found_in_every_form_of_list() {
        let check = |text: &str, expected: bool| {
            let parsed: Value = kbr_host::yaml::document(text).unwrap();
            let found = has_component(&parsed, "../webhook-self-signed");
            assert_eq!(found, expected, "{text}");
        };
        check("components:\n  - ../webhook-self-signed\n", true);
        check("components: [../webhook-self-signed]", true);
        check(
            "components: [../prometheus, '../webhook-self-signed']",
            true,
        );
        check("components:\n- \"../webhook-self-signed\"   # ours\n", true);
        check("components:\n- ../webhook-self-signed/   \n", true);
        check(
            "components:\n- ../webhook-certmanager\n# - ../webhook-self-signed\n",
            false,
        );
        check("resources:\n- ../webhook-self-signed\n", false);
        check("components: []", false);
    }
}
