//! `kbr manifests` on a project with a fake generator, so that no dependency is built.

mod choices;
mod watch;
mod webhooks;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const PROJECT: &str = r#"layout = "v1"
kbr = "0.1.0"
name = "captains"
domain = "example.com"

[[api]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
singular = "captain"
namespaced = true
"#;
const ROLE: &str = "config/rbac/role.yaml";
const CRD: &str = "config/crd/bases/crew.example.com_captains.yaml";

/// A project with an `api` crate that prints `crds`, a `manager`, and one RBAC marker.
fn project(crds: &Value) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
    };
    let workspace = "[workspace]\nmembers = [\"api\", \"manager\"]\n";
    let main = "// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list\nfn main() {}\n";
    let files = [
        ("PROJECT", PROJECT.to_owned()),
        ("Cargo.toml", package("captains") + workspace),
        ("src/main.rs", main.to_owned()),
        ("api/Cargo.toml", package("captains-api")),
        (
            "api/src/bin/crdgen.rs",
            "fn main() { print!(\"{}\", include_str!(\"crds.json\")); }\n".to_owned(),
        ),
        ("api/src/bin/crds.json", crds.to_string()),
        ("manager/Cargo.toml", package("manager")),
        (
            "manager/src/lib.rs",
            "// +kbr:rbac:groups=g,resources=managers,verbs=get\n".to_owned(),
        ),
    ];
    for (path, text) in files {
        write(&root, path, &text);
    }
    root
}

fn write(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(root: &TempDir, path: &str) -> String {
    fs::read_to_string(root.path().join(path)).unwrap_or_default()
}

fn crd(kind: &str, version: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.crew.example.com") },
        "spec": {
            "group": "crew.example.com",
            "names": { "kind": kind, "plural": plural },
            "scope": "Namespaced",
            "versions": [{ "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    })
}

/// Runs kbr in a folder of the project as a user would: with cargo from the path, and a target folder in the project.
fn kbr(root: &TempDir, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

fn command(root: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
    command
        .arg("manifests")
        .args(arguments)
        .current_dir(root.path().join("src"))
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET")
        .env("CARGO_NET_OFFLINE", "true");
    command
}

#[track_caller]
fn succeeds(root: &TempDir, arguments: &[&str]) -> String {
    let output = kbr(root, arguments);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}");
    printed
}

#[track_caller]
fn fails(root: &TempDir, arguments: &[&str]) -> (String, String) {
    let output = kbr(root, arguments);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    (String::from_utf8(output.stdout).unwrap(), printed)
}

fn modified(path: &Path) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn crds_and_roles_are_written_and_then_left_alone() {
    let root = project(&json!([crd("Captain", "v1")]));
    let printed = succeeds(&root, &[]);
    assert!(
        printed.contains("      create config/rbac/role.yaml\n"),
        "{printed}"
    );
    assert!(
        read(&root, ROLE)
            .contains("\nkind: ClusterRole\nmetadata:\n  name: captains-manager-role\n")
    );
    assert!(
        read(&root, ROLE).contains("  resources:\n  - deployments\n  verbs:\n  - get\n  - list\n")
    );
    assert!(
        !read(&root, ROLE).contains("managers"),
        "the manager's comments grant no permissions"
    );
    assert!(read(&root, CRD).contains("\n  name: captains.crew.example.com\n"));

    let path = root.path().join(CRD);
    let before = modified(&path);
    let printed = succeeds(&root, &[]);
    let (_, same) = printed.rsplit_once("same ").unwrap();
    let (same, all) = same.split_once(" of ").unwrap();
    assert_eq!(format!("{same} manifests\n"), all, "{printed}");
    assert_eq!(modified(&path), before);
    assert!(!succeeds(&root, &["--check"]).contains("warning"));
}

#[test]
fn stale_files_fail_the_check_with_a_diff_and_nothing_is_written() {
    let root = project(&json!([crd("Captain", "v1")]));
    succeeds(&root, &[]);
    let stale = read(&root, ROLE).replace("deployments", "daemonsets");
    write(&root, ROLE, &stale);
    fs::remove_file(root.path().join(CRD)).unwrap();
    let (diff, printed) = fails(&root, &["--check"]);
    assert!(
        diff.contains("--- a/config/rbac/role.yaml\n+++ b/config/rbac/role.yaml\n"),
        "{diff}"
    );
    assert!(
        diff.contains("-  - daemonsets\n+  - deployments\n"),
        "{diff}"
    );
    assert!(
        diff.contains("--- /dev/null\n+++ b/config/crd/bases/crew.example.com_captains.yaml\n"),
        "{diff}"
    );
    assert!(
        printed.contains(
            "error: 2 manifests are stale; nothing was written\nhelp: run `kbr manifests`"
        ),
        "{printed}"
    );
    assert_eq!(
        (read(&root, ROLE), read(&root, CRD)),
        (stale, String::new())
    );
}

#[test]
fn a_role_that_the_user_wrote_is_kept_and_reported() {
    let root = project(&json!([]));
    write(&root, ROLE, "rules: []\n");
    let printed = succeeds(&root, &[]);
    assert!(
        printed.contains("        keep config/rbac/role.yaml (it lacks"),
        "{printed}"
    );
    assert_eq!(read(&root, ROLE), "rules: []\n");
    succeeds(&root, &["--check"]);
}

#[test]
fn code_that_does_not_compile_shows_cargos_error_and_nothing_is_written() {
    let root = project(&json!([crd("Captain", "v1")]));
    write(&root, "api/src/bin/crdgen.rs", "fn main() { nonsense }\n");
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
        "`src/b.rs:1`: `gte` is not a verb",
        "`v2` and `v1` are all storage versions",
    ] {
        assert!(printed.contains(reason), "{printed}");
    }
    assert!(!root.path().join("config").exists());
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
    assert!(!printed.contains("now stores"), "{printed}");
    write(&root, "api/src/bin/crds.json", &versions("v2").to_string());
    let printed = succeeds(&root, &[]);
    for part in [
        "`captains.crew.example.com` now stores `v2`, and before `v1`",
        "add `manager.migrate_storage::<api::crew::v2::Captain>();` to `src/main.rs`",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    let printed = succeeds(&root, &[]);
    assert!(!printed.contains("now stores"), "{printed}");
}

#[test]
fn the_namespaced_component_has_a_role_with_the_same_rules() {
    let root = project(&json!([]));
    write(&root, "config/namespaced/role/kustomization.yaml", "");
    succeeds(&root, &[]);
    let role = read(&root, "config/namespaced/role/role.yaml");
    assert!(
        role.contains("\nkind: Role\nmetadata:\n  name: captains-manager-role\n"),
        "{role}"
    );
    let rules = |text: &str| text.split_once("\nrules:\n").unwrap().1.to_owned();
    assert_eq!(rules(&role), rules(&read(&root, ROLE)));
}

#[test]
fn only_crds_are_generated_on_request() {
    let root = project(&json!([crd("Captain", "v1")]));
    succeeds(&root, &["--crd-only"]);
    assert!(root.path().join(CRD).exists() && !root.path().join(ROLE).exists());
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
        printed.contains("lists `bases/crew.example.com_ships.yaml`, which no type defines\n    help: remove `- bases/crew.example.com_ships.yaml`"),
        "the line is the user's: {printed}"
    );
    assert!(!printed.contains("mine.yaml"), "{printed}");
    assert!(
        !root.path().join(ships).exists()
            && root.path().join("config/crd/bases/mine.yaml").exists()
    );
    succeeds(&root, &["--check"]);
}

const SAMPLE: &str = "config/samples/crew_v1_captain.yaml";

/// A CRD whose objects need an image, and have at most this many replicas.
fn strict() -> Value {
    let mut strict = crd("Captain", "v1");
    strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object", "required": ["spec"], "properties": { "spec": {
            "type": "object", "required": ["image"], "properties": {
                "image": { "type": "string", "minLength": 1 },
                "replicas": { "type": "integer", "minimum": 1 },
            },
        } },
    });
    strict
}

#[test]
fn a_sample_is_repaired_unless_it_was_edited_and_otherwise_validated() {
    let root = project(&json!([strict()]));
    let head =
        "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata:\n  name: captain-sample\n";
    // The first digits of the SHA-256 of the body.
    write(
        &root,
        SAMPLE,
        &format!("# kbr:sample a47eb369bbb7\n{head}spec: {{}}\n"),
    );
    let (diff, _) = fails(&root, &["--check"]);
    assert!(
        diff.contains("-spec: {}\n+spec:\n+  image: example\n"),
        "{diff}"
    );
    assert!(succeeds(&root, &[]).contains(&format!("      update {SAMPLE}\n")));
    let repaired = read(&root, SAMPLE);
    assert!(
        repaired.ends_with(&format!("\n{head}spec:\n  image: example\n")),
        "{repaired}"
    );
    assert!(!succeeds(&root, &["--check"]).contains("warning"));

    let edited = repaired.replace("image: example", "image: mine\n  replicas: 0\n  replica: 1");
    write(&root, SAMPLE, &edited);
    let printed = succeeds(&root, &[]);
    for expected in [
        format!("warning: `{SAMPLE}:8`: `.spec.replicas` is below 1\n"),
        format!(
            "warning: `{SAMPLE}:9`: `.spec.replica` is an unknown field, did you mean `replicas`\n"
        ),
    ] {
        assert!(printed.contains(&expected), "{printed}");
    }
    assert_eq!(read(&root, SAMPLE), edited);
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
             \x20   help: manifests come from the types"
        ),
        "{printed}"
    );
    assert!(
        printed.contains("warning: a type defines `Ship` of group `crew.example.com`, but PROJECT does not have it\n"),
        "{printed}"
    );
    let written = read(&root, "config/crd/bases/crew.example.com_captainz.yaml");
    assert!(written.contains("\n  scope: Cluster\n"), "{written}");
    assert!(succeeds(&root, &["--check"]).contains("PROJECT and the types disagree"));

    write(&root, "api/src/bin/crds.json", "[]");
    let printed = succeeds(&root, &["--crd-only"]);
    assert!(
        printed.contains(
            "warning: PROJECT has `Captain` of group `crew.example.com`, but no type defines it\n"
        ),
        "{printed}"
    );
}

#[test]
fn a_check_fails_even_if_the_output_is_closed() {
    let root = project(&json!([crd("Captain", "v1")]));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(&root, &["--check"])
        .stdout(writer)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("stale; nothing was written"), "{printed}");
    assert_eq!(output.status.code(), Some(1), "{printed}");
}

#[test]
fn manifests_are_written_even_if_the_output_is_closed() {
    let root = project(&json!([crd("Captain", "v1")]));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command(&root, &[]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
    succeeds(&root, &["--check"]);
}
