//! The CRDs that types were imported from: what an API server has accepted is not a problem of the types.

use std::collections::BTreeSet;
use std::path::Path;

use crd_lint::{Finding, Severity};
use serde_json::Value;

use super::allow::SERDE;
use super::crd::Crd;
use kbr_scaffold::contents;
use kbr_scaffold::imported;

/// The findings that an imported kind had before it was one of the project's.
#[derive(Debug, Default)]
pub struct Original {
    is_imported: bool,
    findings: BTreeSet<(&'static str, Option<String>, String)>,
}

impl Original {
    /// Of the CRD that `crd` comes from, if the project at `root` has it.
    pub fn of(crd: &Crd, root: &Path) -> Self {
        let path = imported::source_path("api", &crd.group, &crd.plural);
        let text = contents::text(root, &path);
        let read = |text: String| kbr_host::yaml::document::<Value>(&text).ok();
        let original = text.and_then(read);
        let findings = original.as_ref().map(crd_lint::lint);
        Original {
            is_imported: original.is_some(),
            findings: findings.into_iter().flatten().map(key).collect(),
        }
    }

    /// Whether it had `finding`, too. What the schema of an imported kind allows beyond its types cannot be changed.
    pub fn has(&self, finding: &Finding) -> bool {
        let is_beyond = finding.id == SERDE && finding.severity == Severity::Warning;
        self.is_imported && is_beyond || self.findings.contains(&key(finding.clone()))
    }
}

fn key(finding: Finding) -> (&'static str, Option<String>, String) {
    (finding.id, finding.version, finding.path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_the_original_has_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let original = r#"{ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "ships.x.io" },
            "spec": { "group": "x.io", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" }, "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": { "a": { "type": "number" }, "b": { "type": "integer" } } } } } } } ] } }"#;
        let mut crd = Crd {
            group: "x.io".to_owned(),
            kind: "Ship".to_owned(),
            plural: "ships".to_owned(),
            object: serde_json::from_str(original).unwrap(),
        };
        let path = folder.path().join("api/imported");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("x.io_ships.yaml"), original).unwrap();
        let properties =
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b/type";
        *crd.object.pointer_mut(properties).unwrap() = "number".into();

        let findings = crd_lint::lint(&crd.object);
        let new = |original: &Original| {
            let new = findings.iter().filter(|finding| !original.has(finding));
            new.map(|finding| finding.path.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(new(&Original::default()), ".spec.a .spec.b");
        assert_eq!(new(&Original::of(&crd, folder.path())), ".spec.b");
    }
}
