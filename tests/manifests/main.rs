//! `kbr manifests` on a project with a fake generator, so that no dependency is built.

mod choices;
mod reported;
mod samples;
mod watch;
mod webhooks;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const PROJECT: &str = r#"layout = "v1"
kbr = "0.3.0"
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

/// Prints the definitions. The types agree with their schemas: what is read is written.
const GENERATOR: &str = r#"fn main() {
    if std::env::args().nth(1).is_some() {
        return std::io::stdin().lines().for_each(|object| println!("{{\"Ok\":{}}}", object.unwrap()));
    }
    print!("{}", include_str!("crds.json"));
}
"#;

/// A project with an `api` crate that prints `crds`, and one RBAC marker.
fn project(crds: &Value) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
    };
    let workspace = "[workspace]\nmembers = [\"api\"]\n";
    let main = "// +kbr:rbac:groups=apps,resources=deployments,verbs=get;list\nfn main() {}\n";
    let files = [
        ("PROJECT", PROJECT.to_owned()),
        ("Cargo.toml", package("captains") + workspace),
        ("src/main.rs", main.to_owned()),
        ("api/Cargo.toml", package("captains-api")),
        ("api/src/bin/captains-crdgen.rs", GENERATOR.to_owned()),
        ("api/src/bin/crds.json", crds.to_string()),
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
fn a_role_of_another_name_or_namespace_is_bound_to_the_operator_unless_a_file_binds_it() {
    let root = project(&json!([crd("Captain", "v1")]));
    let marker = "// +kbr:rbac:groups=apps,resources=deployments,verbs=get";
    let main = format!("{marker},roleName=extra\n{marker},namespace=infra\nfn main() {{}}\n");
    write(&root, "src/main.rs", &main);
    succeeds(&root, &[]);
    let bound = || {
        let text = read(&root, "config/rbac/role.yaml");
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let bindings = documents.into_iter().filter(|it| it["roleRef"].is_object());
        let shown = bindings.map(|it| format!("{} {}", it["roleRef"]["name"], it["subjects"]));
        shown.collect::<Vec<_>>()
    };
    let account = r#"[{"kind":"ServiceAccount","name":"captains-controller-manager","namespace":"captains-system"}]"#;
    let all = [
        format!("\"extra\" {account}"),
        format!("\"captains-manager-role\" {account}"),
    ];
    assert_eq!(bound(), all);
    let own = "kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: extra}\n";
    write(&root, "config/rbac/own.yaml", own);
    succeeds(&root, &[]);
    assert_eq!(bound(), all[1..]);
}

#[test]
fn only_crds_are_generated_on_request() {
    let root = project(&json!([crd("Captain", "v1")]));
    succeeds(&root, &["--crd-only"]);
    assert!(root.path().join(CRD).exists() && !root.path().join(ROLE).exists());
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
