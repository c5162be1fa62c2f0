//! What `kbr manifests` reports about the code and about PROJECT.

use std::fs;

use serde_json::json;

use crate::{PROJECT, ROLE, crd, fails, project, read, succeeds, write};

#[test]
fn problems_of_types_and_comments_are_reported_together() {
    let root = project(&json!([crd("Captain", "v1"), crd("Captain", "v2")]));
    write(
        &root,
        "src/a.rs",
        "\n/// +kbr:rbac:groups=g,resources=a,verbs=get\n",
    );
    write(
        &root,
        "src/b.rs",
        "// +kbr:rbac:groups=g,resources=a,verbs=gte\n",
    );
    let (_, printed) = fails(&root, &[]);
    assert!(
        printed.contains("3 problems, nothing was written"),
        "{printed}"
    );
    for reason in [
        "`src/a.rs:2`: a marker in a doc comment",
        "`src/b.rs:1`: unknown verb `gte`",
        "`v2` and `v1` are all storage versions",
    ] {
        assert!(printed.contains(reason), "{printed}");
    }
    assert!(!root.path().join("config").exists());
}

#[test]
fn code_that_does_not_compile_shows_cargos_error_and_nothing_is_written() {
    let root = project(&json!([crd("Captain", "v1")]));
    write(
        &root,
        "api/src/bin/captains-crdgen.rs",
        "fn main() { nonsense }\n",
    );
    let (_, printed) = fails(&root, &[]);
    assert!(
        printed.contains("cannot find value `nonsense`"),
        "{printed}"
    );
    assert!(
        printed.contains("nothing was written\n  `cargo build"),
        "{printed}"
    );
    assert!(!root.path().join("config").exists());
}

#[test]
fn a_controller_that_does_not_compile_does_not_affect_manifests() {
    let root = project(&json!([crd("Captain", "v1")]));
    write(&root, "src/main.rs", "fn main() { nonsense }\n");
    succeeds(&root, &[]);
    assert!(read(&root, ROLE).ends_with("\nrules: []\n"));
}

#[test]
fn a_change_of_the_stored_version_is_reported_once_with_the_line_that_migrates() {
    let versions = |stored: &str| {
        let of = |version: &str| {
            let mut crd = crd("Captain", version);
            crd["spec"]["versions"][0]["storage"] = json!(version == stored);
            crd
        };
        json!([of("v1"), of("v2")])
    };
    let root = project(&versions("v1"));
    let second = PROJECT
        .split_once("\n\n")
        .unwrap()
        .1
        .replace("\"v1\"", "\"v2\"");
    write(&root, "PROJECT", &format!("{PROJECT}\n{second}"));
    let printed = succeeds(&root, &[]);
    assert!(!printed.contains("the storage version of"), "{printed}");
    write(&root, "api/src/bin/crds.json", &versions("v2").to_string());
    let printed = succeeds(&root, &[]);
    for part in [
        "the storage version of `captains.crew.example.com` changed from `v1` to `v2`",
        "add `manager.migrate_storage::<api::crew::v2::Captain>();` to `src/main.rs`",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    let printed = succeeds(&root, &[]);
    assert!(!printed.contains("the storage version of"), "{printed}");
}

#[test]
fn a_removed_kind_and_an_unlisted_kind_are_reported() {
    let root = project(&json!([crd("Captain", "v1"), crd("Ship", "v1")]));
    write(
        &root,
        "config/crd/kustomization.yaml",
        "resources:\n- bases/crew.example.com_captains.yaml\n",
    );
    let printed = succeeds(&root, &[]);
    assert!(
        printed.contains("does not list `bases/crew.example.com_ships.yaml`"),
        "{printed}"
    );
    assert!(
        !printed.contains("does not list `bases/crew.example.com_captains.yaml`"),
        "{printed}"
    );

    write(
        &root,
        "api/src/bin/crds.json",
        &json!([crd("Captain", "v1")]).to_string(),
    );
    let ships = "config/crd/bases/crew.example.com_ships.yaml";
    let printed = succeeds(&root, &[]);
    assert!(
        printed.contains(&format!(
            "no type defines the CRD in `{ships}`\n    help: to remove it, run `kbr manifests --prune`"
        )),
        "{printed}"
    );
    assert!(root.path().join(ships).exists());
    fails(&root, &["--check"]);

    let bases = "resources:\n- bases/crew.example.com_captains.yaml\n- bases/crew.example.com_ships.yaml\n- bases/mine.yaml\n";
    write(&root, "config/crd/kustomization.yaml", bases);
    write(&root, "config/crd/bases/mine.yaml", "a: 1\n");
    let printed = succeeds(&root, &["--prune"]);
    assert!(
        printed.contains(&format!("      remove {ships}\n")),
        "{printed}"
    );
    assert!(
        printed.contains("lists `bases/crew.example.com_ships.yaml`, but no type defines it\n    help: remove `- bases/crew.example.com_ships.yaml`"),
        "the line is the user's: {printed}"
    );
    assert!(!printed.contains("mine.yaml"), "{printed}");
    assert!(
        !root.path().join(ships).exists()
            && root.path().join("config/crd/bases/mine.yaml").exists()
    );
    succeeds(&root, &["--check"]);
}

#[test]
fn a_folder_outside_of_a_project_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    let (_, printed) = fails(&root, &[]);
    assert!(printed.contains("not a kbr project"), "{printed}");
}

#[test]
fn differences_between_project_and_the_types_are_reported_and_the_types_decide() {
    let mut changed = crd("Captain", "v2");
    changed["spec"]["names"] = json!({
        "kind": "Captain", "plural": "captainz", "singular": "skipper", "shortNames": ["cap", "c"],
    });
    changed["spec"]["scope"] = json!("Cluster");
    let root = project(&json!([changed, crd("Ship", "v1")]));
    let printed = succeeds(&root, &[]);
    assert!(
        printed.contains(
            "warning: PROJECT and the types disagree about `Captain` of group `crew.example.com`\n\
             \x20   plural: `captains` in PROJECT, `captainz` in the types\n\
             \x20   singular: `captain` in PROJECT, `skipper` in the types\n\
             \x20   scope: `Namespaced` in PROJECT, `Cluster` in the types\n\
             \x20   short names: `` in PROJECT, `c, cap` in the types\n\
             \x20   versions: `v1` in PROJECT, `v2` in the types\n\
             \x20   help: update `[[api]]` to match the type, or revert the type"
        ),
        "{printed}"
    );
    assert!(
        printed.contains("warning: a type defines `Ship` of group `crew.example.com`, but PROJECT does not list it\n"),
        "{printed}"
    );
    let written = read(&root, "config/crd/bases/crew.example.com_captainz.yaml");
    assert!(written.contains("\n  scope: Cluster\n"), "{written}");
    assert!(succeeds(&root, &["--check"]).contains("PROJECT and the types disagree"));

    write(&root, "api/src/bin/crds.json", "[]");
    let printed = succeeds(&root, &["--crd-only"]);
    assert!(
        printed.contains(
            "warning: PROJECT lists `Captain` of group `crew.example.com`, but no type defines it\n"
        ),
        "{printed}"
    );
}
