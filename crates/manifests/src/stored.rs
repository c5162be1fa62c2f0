//! Reports that a CRD stores another version than before, and what must happen to the stored objects.

use std::path::Path;

use serde_json::Value;

use super::crd::Crd;
use super::kinds::Kinds;
use super::problem::Problem;
use super::rbac::needed::migrates;
use super::sources::Sources;
use kbr_host::regular;
use kbr_scaffold::resource::target::Target;

/// A warning for each CRD whose storage version differs from that in its file in `folder`, unless the code migrates the objects.
pub fn changes(folder: &Path, crds: &[Crd], kinds: &Kinds, sources: &Sources) -> Vec<Problem> {
    let change = |crd: &Crd| {
        let text = regular::followed(&folder.join(crd.file())).ok()?;
        let before: Vec<Value> = kbr_host::yaml::documents(&text).ok()?;
        let (old, new) = (stored(before.first()?)?, stored(&crd.object)?);
        let kind = kinds.version(&crd.group, &crd.kind, new)?;
        let migrates = migrates(kinds, sources, kind);
        (old != new && !migrates).then(|| problem(crd, kind, old, new))
    };
    crds.iter().filter_map(change).collect()
}

fn problem(crd: &Crd, kind: &Target, old: &str, new: &str) -> Problem {
    let text = format!(
        "the storage version of `{}.{}` changed from `{old}` to `{new}`: existing objects stay `{old}` until rewritten",
        crd.plural, crd.group
    );
    let line = format!("manager.migrate_storage::<{}>();", kind.type_path);
    Problem::new(text).help(format!(
        "add `{line}` to `src/main.rs`: it rewrites the objects, and removes `{old}` from `status.storedVersions`. Keep `{old}` in the types until then"
    ))
}

/// The version that a CRD stores.
fn stored(crd: &Value) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true)?;
    stored["name"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kbr_scaffold::project;

    /// A project with two versions of a kind.
    fn project() -> String {
        let head =
            "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";
        let api = |version: &str| {
            format!(
                "[[api]]\ngroup = \"crew\"\nfull_group = \"crew.example.com\"\nversion = \"{version}\"\nkind = \"Captain\"\n\
                 plural = \"captains\"\nsingular = \"captain\"\nshort_names = []\nnamespaced = true\n\
                 path = \"api/src/crew/{version}/captain.rs\"\n"
            )
        };
        format!("{head}{}{}", api("v1"), api("v2"))
    }

    fn crd(stored: &str) -> Crd {
        let version = |name: &str| json!({"name": name, "storage": name == stored});
        Crd {
            group: "crew.example.com".to_owned(),
            kind: "Captain".to_owned(),
            plural: "captains".to_owned(),
            object: json!({"spec": {"versions": [version("v2"), version("v1")]}}),
        }
    }

    /// The warnings for a CRD that stored `before` and now stores `now`.
    fn warnings(before: &str, now: &str, code: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let old = crd(before);
        let text = old.object.to_string();
        std::fs::write(folder.path().join(old.file()), text).expect("a file");
        let project = project::parse(&project()).expect("a project");
        let crds = [crd(now)];
        let kinds = Kinds::of(&project, &crds);
        let sources = Sources::of("src/main.rs", code, Vec::new());
        let found = changes(folder.path(), &crds, &kinds, &sources);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        found.join("\n")
    }

    #[test]
    fn another_stored_version_is_reported_with_the_line_that_migrates() {
        let found = warnings("v1", "v2", "");
        assert!(
            found.starts_with(
                "the storage version of `captains.crew.example.com` changed from `v1` to `v2`: "
            ),
            "{found}"
        );
        assert!(
            found.contains("add `manager.migrate_storage::<api::crew::v2::Captain>();` to"),
            "{found}"
        );
    }

    #[test]
    fn an_unchanged_version_and_a_migration_are_not_reported() {
        assert_eq!(warnings("v1", "v1", ""), "");
        let line = "manager.migrate_storage::<api::crew::v1::Captain>();";
        assert_eq!(
            warnings("v1", "v2", line),
            "",
            "any version of the kind will do"
        );
    }
}
