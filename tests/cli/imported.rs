//! `kbr create api --from-crd`, once and again, for the project's own kinds and for those of other operators.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ships.crew.example.com }
spec:
  group: crew.example.com
  scope: Namespaced
  names: { kind: Ship, plural: ships }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: {
        name: { description: What it is called., type: string }, sails: { type: integer, minimum: 1 }, rank: { type: string } } } } } } }
";

fn kbr(folder: &Path, words: &str) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), printed)
}

fn written(folder: &Path, words: &str) -> String {
    let (is_success, printed) = kbr(folder, words);
    assert!(is_success, "{words}: {printed}");
    printed
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// A project with the kind, imported with `flags`, and the file with the types.
fn imported(flags: &str, file: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    written(
        folder.path(),
        "init --domain example.com --project-name ships",
    );
    fs::write(folder.path().join("crd.yaml"), CRD).unwrap();
    written(
        folder.path(),
        &format!("create api --from-crd crd.yaml {flags}"),
    );
    let file = folder.path().join(file);
    (folder, file)
}

#[test]
fn a_newer_crd_is_merged_into_types_that_the_user_edited() {
    for (flags, file) in [
        ("--controller=false", "api/src/crew/v1/ship.rs"),
        (
            "--controller=false --external",
            "external/src/crew/v1/ship.rs",
        ),
    ] {
        let (folder, file) = imported(flags, file);
        let again = format!("create api --from-crd crd.yaml {flags}");
        assert!(written(folder.path(), &again).contains("nothing to do"));

        replace(&file, "What it is called.", "What its crew calls it.");
        replace(&file, "pub rank: Option<String>", "pub rank: Option<Rank>");
        let crd = folder.path().join("crd.yaml");
        replace(&crd, "minimum: 1", "minimum: 2");
        replace(&crd, "rank: { type: string }", "rank: { type: boolean }");
        let printed = written(folder.path(), &again);
        assert!(
            printed.contains("-    pub rank: Option<String>,\n+    pub rank: Option<bool>,"),
            "{printed}"
        );
        let text = fs::read_to_string(&file).unwrap();
        for expected in ["What its crew calls it.", "Option<Rank>", "min = 2"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(written(folder.path(), &again).contains("nothing to do"));
    }
}

#[test]
fn the_last_kind_of_a_group_can_be_deleted_and_its_types_stay() {
    let (folder, file) = imported("--controller=false", "api/src/crew/v1/ship.rs");
    let delete = "delete api --group crew --version v1 --kind Ship --yes";
    written(folder.path(), delete);
    assert!(file.exists());
    let library = fs::read_to_string(folder.path().join("api/src/lib.rs")).unwrap();
    assert!(!library.contains("crew"), "{library}");
}

#[test]
fn types_without_the_crd_that_they_come_from_are_not_merged() {
    let (folder, _) = imported("--controller=false", "");
    fs::remove_file(
        folder
            .path()
            .join("api/imported/crew.example.com_ships.yaml"),
    )
    .unwrap();
    let (is_success, printed) = kbr(
        folder.path(),
        "create api --from-crd crd.yaml --controller=false",
    );
    assert!(!is_success);
    assert!(
        printed.contains("copy the earlier CRD to `api/imported/crew.example.com_ships.yaml`"),
        "{printed}"
    );
}

#[test]
fn external_types_are_in_a_crate_without_a_crd_and_controllers_use_them() {
    let (folder, _) = imported("--external --controller", "");
    let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(text("Cargo.toml").contains("members = [\"api\", \"external\"]"));
    assert!(
        text("Cargo.toml")
            .contains("external = { path = \"external\", package = \"ships-external\" }")
    );
    assert!(text("src/controllers/ship.rs").contains("use external::crew::v1::Ship;"));
    assert!(!text("PROJECT").contains("[[api]]"));
    assert!(!text("api/src/lib.rs").contains("Ship"));
    let webhook = "create webhook --group crew.example.com --version v1 --kind Ship --validation \
                   --external-crate ./external --external-type external::crew::v1::Ship";
    written(folder.path(), webhook);
}

#[test]
fn external_types_without_a_controller_can_be_used_by_the_operator() {
    let (folder, _) = imported("--external --controller=false", "");
    let manifest = || fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
    let line = "external = { path = \"external\", package = \"ships-external\" }\n";
    assert_eq!(manifest().matches(line).count(), 1, "{}", manifest());
    // A controller for it that comes later, and goes.
    let controller = "create api --from-crd crd.yaml --external --controller";
    written(folder.path(), controller);
    assert_eq!(manifest().matches(line).count(), 1, "{}", manifest());
    written(
        folder.path(),
        "delete controller --controller-name ship --yes",
    );
    assert!(manifest().contains(line));
}

#[test]
fn a_controller_has_a_reconciler_in_go_as_a_comment() {
    let (folder, _) = imported("--controller=false", "");
    let go = "package controller\n// */ {{ evil }}\nfunc (r *PodReconciler) Reconcile() {}\n";
    fs::write(folder.path().join("pod.go"), go).unwrap();
    let command =
        "create api --group core --version v1 --kind Pod --resource=false --from-go pod.go";
    written(folder.path(), command);
    let text = fs::read_to_string(folder.path().join("src/controllers/pod.rs")).unwrap();
    let comment =
        "// package controller\n// // */ {{ evil }}\n// func (r *PodReconciler) Reconcile() {}\n";
    assert!(text.ends_with(comment), "{text}");
    assert!(written(folder.path(), command).contains("nothing to do"));
}

#[test]
fn external_types_go_into_the_crate_that_the_flag_names() {
    let (folder, _) = imported(
        "--external --external-crate ./crates/sea-kinds --controller",
        "",
    );
    let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    let manifest = text("Cargo.toml");
    for expected in [
        "members = [\"api\", \"crates/sea-kinds\"]",
        "sea_kinds = { path = \"crates/sea-kinds\", package = \"ships-sea-kinds\" }",
    ] {
        assert!(manifest.contains(expected), "{expected}: {manifest}");
    }
    assert!(text("crates/sea-kinds/Cargo.toml").contains("name = \"ships-sea-kinds\""));
    assert!(text("src/controllers/ship.rs").contains("use sea_kinds::crew::v1::Ship;"));
    let again = "create api --from-crd crd.yaml --external --external-crate ./crates/sea-kinds --controller";
    assert!(written(folder.path(), again).contains("nothing to do"));

    // A second crate beside it, which the user has begun.
    let manifest = folder.path().join("kinds/Cargo.toml");
    fs::create_dir(folder.path().join("kinds")).unwrap();
    fs::write(&manifest, "[package]\nname = \"mine\"\n").unwrap();
    replace(&folder.path().join("crd.yaml"), "Ship,", "Boat,");
    let boat = "create api --from-crd crd.yaml --external --external-crate ./kinds --controller";
    let (is_success, printed) = kbr(folder.path(), boat);
    assert!(!is_success);
    let expected = "`kinds/Cargo.toml` lacks `kube`, on which the types depend";
    assert!(printed.contains(expected), "{printed}");
    fs::copy(folder.path().join("crates/sea-kinds/Cargo.toml"), &manifest).unwrap();
    replace(&manifest, "ships-sea-kinds", "mine");
    written(folder.path(), boat);
    let text = text("Cargo.toml");
    assert!(
        text.contains("members = [\"api\", \"kinds\", \"crates/sea-kinds\"]"),
        "{text}"
    );
    assert!(
        text.contains("kinds = { path = \"kinds\", package = \"mine\" }"),
        "{text}"
    );
}

#[test]
fn the_types_of_a_published_crate_have_the_names_and_the_scope_of_the_crd() {
    let (folder, _) = imported(
        "--external-crate sea-kinds@1 --external-type sea_kinds::v1::Ship --controller",
        "",
    );
    let text = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(text("Cargo.toml").contains("sea-kinds = \"1\""));
    assert!(text("src/controllers/ship.rs").contains("use sea_kinds::v1::Ship;"));
    let project = text("PROJECT");
    for expected in ["full_group = \"crew.example.com\"", "plural = \"ships\""] {
        assert!(project.contains(expected), "{expected}: {project}");
    }
    assert!(!folder.path().join("external").exists());
}

#[test]
fn a_crate_that_cannot_have_external_types_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    written(
        folder.path(),
        "init --domain example.com --project-name ships",
    );
    fs::write(folder.path().join("crd.yaml"), CRD).unwrap();
    for (flags, expected) in [
        ("--external --external-crate sea-kinds@1", "is not a folder"),
        (
            "--external --external-crate ../kinds",
            "is not a folder in the project",
        ),
        ("--external --external-crate ./api", "is reserved"),
        (
            "--external --external-crate ./kinds --external-type kinds::Ship",
            "'--external' cannot be used with '--external-type <TYPE>'",
        ),
        ("--external-crate ./kinds", "--external-type <TYPE>"),
        (
            "--external-crate ./kinds --external-type kinds::Ship",
            "`./kinds` is not a crate",
        ),
        (
            "--resource=false",
            "`--resource=false` contradicts `--from-crd`",
        ),
    ] {
        let command = format!("create api --from-crd crd.yaml --controller {flags}");
        let (is_success, printed) = kbr(folder.path(), &command);
        assert!(!is_success, "{flags}");
        assert!(printed.contains(expected), "{flags}: {printed}");
    }
    let (is_success, _) = kbr(folder.path(), "create api --external --kind Ship");
    assert!(!is_success);
}

#[test]
fn kinds_of_a_project_in_go_share_types_and_a_later_kind_takes_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new");
    let crds = folder.path().join("go/config/crd/bases");
    fs::create_dir_all(&crds).unwrap();
    let project =
        "version: \"3\"\nlayout: [go.kubebuilder.io/v4]\ndomain: example.com\nprojectName: ships\n";
    fs::write(folder.path().join("go/PROJECT"), project).unwrap();
    let port = "port: { type: object, properties: { name: { description: What it is called., type: string } } }, rank:";
    let crd = |kind: &str| CRD.replace("rank:", port).replace("Ship", kind);
    let crd = |kind: &str| crd(kind).replace("ships", &format!("{}s", kind.to_lowercase()));
    for kind in ["Ship", "Boat"] {
        fs::write(crds.join(format!("{kind}.yaml")), crd(kind)).unwrap();
    }
    written(folder.path(), "import go --directory new");
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let shared = text("api/src/crew/v1/shared_types.rs");
    assert!(shared.contains("pub struct Port {"), "{shared}");
    let import = "use super::shared_types::Port;";
    let is_sharing = |kind: &str| {
        let text = text(&format!("api/src/crew/v1/{kind}.rs"));
        text.contains(import) && !text.contains("pub struct Port")
    };
    assert!(is_sharing("ship") && is_sharing("boat"));

    // A later kind, and a newer CRD of an earlier one.
    let create = "create api --from-crd crd.yaml --controller=false";
    fs::write(root.join("crd.yaml"), crd("Raft")).unwrap();
    written(&root, create);
    assert!(is_sharing("raft"));
    fs::write(
        root.join("crd.yaml"),
        crd("Ship").replace("minimum: 1", "minimum: 2"),
    )
    .unwrap();
    written(&root, create);
    assert!(is_sharing("ship"));
    assert!(text("api/src/crew/v1/ship.rs").contains("min = 2"));

    // The others have them still when a kind goes.
    for kind in ["Ship", "Raft"] {
        written(
            &root,
            &format!("delete api --group crew --version v1 --kind {kind} --yes"),
        );
        assert!(text("api/src/crew/v1/mod.rs").contains("pub mod shared_types;\n"));
    }
    assert!(is_sharing("boat"));
    assert_eq!(text("api/src/crew/v1/shared_types.rs"), shared);
}
