use std::collections::BTreeSet;
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

#[test]
fn the_reference_is_in_cargos_order() {
    assert_eq!(lock(REFERENCE), LOCK);
    for ours in [REFERENCE, "kbr-reference-api", "manager"] {
        assert!(
            LOCK.contains(&format!("{PACKAGE}name = \"{ours}\"\n")),
            "{ours}"
        );
    }
    assert!(crates().count() > 100 && crates().any(|name| name == "kube"));
}

#[test]
fn no_trace_of_the_reference_stays_in_a_projects_lock() {
    let lock = lock("zoo-keeper");
    assert!(!lock.contains(REFERENCE));
    assert_eq!(
        lock.matches("zoo-keeper-api").count(),
        LOCK.matches("kbr-reference-api").count()
    );
}

#[test]
fn cargo_leaves_the_lock_of_200_projects_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for other in OTHERS {
        package(&root.join("others").join(other), other, &[]);
    }
    workspace(root, REFERENCE);
    cargo(root, &["generate-lockfile", "--offline"]);
    let reference = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert_eq!(rename(&reference, REFERENCE), reference);
    let names = names();
    assert_eq!(names.len(), 200);
    for name in names {
        let lock = rename(&reference, &name);
        workspace(root, &name);
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

/// 200 legal names that sort everywhere among those of [`OTHERS`].
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let starts = ["a", "captain", "kbr", "m", "manage", "n", "serde", "z"];
    for start in starts {
        for next in ["", "-", "0", "9", "a", "b", "r", "s", "z", "-a", "-b", "-c"] {
            for end in ["", "0", "x", "-0", "-q"] {
                let name = format!("{start}{next}{end}");
                let taken = name.replace('-', "_");
                let free = OTHERS.iter().all(|other| {
                    let other = other.replace('-', "_");
                    other != taken && other != format!("{taken}_api")
                });
                if free
                    && name != "manager"
                    && crate::resource::words::is_letter_label(&name)
                    && !name.contains("--")
                {
                    names.insert(name);
                }
            }
        }
    }
    // Evenly, so that all beginnings are there.
    let all = names.len();
    let picked = names
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index * 200 / all != (index + 1) * 200 / all);
    picked.map(|(_, name)| name).collect()
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
    dependencies.push("manager = { path = \"manager\" }".to_owned());
    package(root, name, &dependencies);
    let manifest = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let members = "\n[workspace]\nmembers = [\"api\", \"manager\"]\nexclude = [\"others\"]\n";
    fs::write(&manifest, text + members).unwrap();
    package(&root.join("api"), &api, &others[..8]);
    package(&root.join("manager"), "manager", &others[4..]);
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
