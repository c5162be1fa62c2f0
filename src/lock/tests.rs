use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// Crates that the reference project of these tests depends on: before, between and after our own, however those are called.
const OTHERS: &[&str] = &[
    "a",
    "a-b",
    "a_b",
    "ab",
    "b2",
    "cap",
    "captain",
    "captains-a",
    "captains-b",
    "k",
    "kbr",
    "kbr-reference-b",
    "m",
    "m1",
    "manager-a",
    "manages",
    "n-o",
    "n_o",
    "serde",
    "serde-json1",
    "t",
    "x",
    "z9",
    "zz",
];

/// Names that sort everywhere among those of [`OTHERS`]: before, between, after, and as the beginning of another. Those of the real lock
/// are tried by `tests/names.rs`.
const NAMES: [&str; 12] = [
    "a-0",
    "a-b-0",
    "b",
    "captains",
    "kbr-0",
    "kbr-reference-c",
    "l",
    "manage",
    "manager-b",
    "n-p",
    "serde-json",
    "zzz",
];

#[test]
fn the_reference_is_in_cargos_order() {
    assert_eq!(named(REFERENCE_LOCK, REFERENCE), REFERENCE_LOCK);
    for ours in [REFERENCE, "kbr-reference-api", LIBRARY] {
        assert!(
            REFERENCE_LOCK.contains(&format!("{PACKAGE}name = \"{ours}\"\n")),
            "{ours}"
        );
    }
    assert!(crates().count() > 100 && crates().any(|name| name == "kube"));
}

#[test]
fn the_lock_has_the_version_of_the_library() {
    let version = crate::library::version();
    let package = format!("{PACKAGE}name = \"{LIBRARY}\"\nversion = \"{version}\"\n");
    assert!(
        REFERENCE_LOCK.contains(&package),
        "`make lock` brings it up to date"
    );
}

#[test]
fn no_trace_of_the_reference_stays_in_a_projects_lock() {
    let lock = named(REFERENCE_LOCK, "zoo-keeper");
    assert!(!lock.contains(REFERENCE));
    assert_eq!(
        lock.matches("zoo-keeper-api").count(),
        REFERENCE_LOCK.matches("kbr-reference-api").count()
    );
}

#[test]
fn cargo_leaves_the_lock_of_a_project_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for other in OTHERS {
        package(&root.join("others").join(other), other, &[]);
    }
    workspace(root, REFERENCE);
    cargo(root, &["generate-lockfile", "--offline"]);
    let reference = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert_eq!(named(&reference, REFERENCE), reference);
    for name in NAMES {
        let lock = named(&reference, name);
        workspace(root, name);
        fs::write(root.join("Cargo.lock"), &lock).unwrap();
        cargo(
            root,
            &["metadata", "--locked", "--offline", "--format-version=1"],
        );
        assert_eq!(
            fs::read_to_string(root.join("Cargo.lock")).unwrap(),
            lock,
            "{name}"
        );
    }
}

/// A workspace of the form that `kbr init` makes.
fn workspace(root: &Path, name: &str) {
    let api = format!("{name}-api");
    let others: Vec<String> = OTHERS
        .iter()
        .map(|other| {
            format!(
                "{other:?} = {{ path = \"{}/others/{other}\" }}",
                root.display()
            )
        })
        .collect();
    let mut dependencies = others.clone();
    dependencies.push(format!("api = {{ path = \"api\", package = {api:?} }}"));
    dependencies.push("manager = { path = \"manager\", package = \"kbr-manager\" }".to_owned());
    package(root, name, &dependencies);
    let manifest = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let members = "\n[workspace]\nmembers = [\"api\"]\nexclude = [\"others\", \"manager\"]\n";
    fs::write(&manifest, text + members).unwrap();
    package(&root.join("api"), &api, &others[..8]);
    package(&root.join("manager"), LIBRARY, &others[4..]);
}

fn package(folder: &Path, name: &str, dependencies: &[String]) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    let dependencies = dependencies.join("\n");
    let text = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n"
    );
    fs::write(folder.join("Cargo.toml"), text).unwrap();
}

fn cargo(root: &Path, args: &[&str]) {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}
