#![allow(clippy::disallowed_types, reason = "a test asks cargo")]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::checkout;
use crate::project::KBR;

/// Crates that the reference project of these tests depends on; they sort before, between and after the project's packages.
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

/// Names that sort before, between and after those of [`OTHERS`], and one that is a prefix of another. `tests/names.rs` tests the
/// names in the real lock.
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
fn the_reference_lock_is_in_cargos_order() {
    let lock = checkout::lock();
    assert_eq!(named(&lock, REFERENCE, Origin::Vendored), lock);
    for ours in library::packages().chain([REFERENCE, "kbr-reference-api"]) {
        assert!(
            lock.contains(&format!("{PACKAGE}name = \"{ours}\"\n")),
            "{ours}"
        );
    }
    assert!(crates(&lock).count() > 100 && crates(&lock).any(|name| name == "kube"));
}

#[test]
fn the_lock_has_the_version_of_the_library() {
    for name in library::packages() {
        let package = format!("{PACKAGE}name = \"{name}\"\nversion = \"{KBR}\"\n");
        assert!(
            checkout::lock().contains(&package),
            "`make lock` brings it up to date"
        );
    }
}

#[test]
fn the_references_name_does_not_occur_in_a_projects_lock() {
    let reference = checkout::lock();
    let lock = named(&reference, "zoo-ranger", Origin::Vendored);
    assert!(!lock.contains(REFERENCE));
    assert_eq!(
        lock.matches("zoo-ranger-api").count(),
        reference.matches("kbr-reference-api").count()
    );
}

#[test]
fn cargo_does_not_change_the_lock_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for other in OTHERS {
        package(&root.join("others").join(other), other, &[]);
    }
    workspace(root, REFERENCE);
    cargo(root, &["generate-lockfile", "--offline"]);
    let reference = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert_eq!(named(&reference, REFERENCE, Origin::Vendored), reference);
    for name in NAMES {
        let lock = named(&reference, name, Origin::Vendored);
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

/// A workspace like the one that `kbr init` creates.
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
    dependencies.push("kbr-testing = { path = \"testing\" }".to_owned());
    package(root, name, &dependencies);
    let manifest = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let members = "\n[workspace]\nmembers = [\"api\"]\nexclude = [\"others\", \"fake\", \"manager\", \"rules\", \"testing\"]\n";
    fs::write(&manifest, text + members).unwrap();
    package(&root.join("api"), &api, &others[..8]);
    let [fake, rules, manager, testing] =
        library::FOLDERS.map(|folder| &folder["third_party/".len()..]);
    package(&root.join("manager"), manager, &others[4..]);
    let dependency = "manager = { path = \"../manager\", package = \"kbr-manager\" }".to_owned();
    let rules_of_testing = format!("{rules} = {{ path = \"../rules\" }}");
    package(&root.join("rules"), rules, &[]);
    package(
        &root.join("fake"),
        fake,
        std::slice::from_ref(&rules_of_testing),
    );
    let fake_of_testing = format!("{fake} = {{ path = \"../fake\" }}");
    package(
        &root.join("testing"),
        testing,
        &[dependency, fake_of_testing, rules_of_testing],
    );
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
