//! Projects with names of every length and position in the alphabet are formatted, and their lock is the same as cargo's.

mod support;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;
use support::{KBR, repository};

/// The shortest and the longest kinds, groups and versions for which projects are formatted.
const KINDS: [&str; 3] = ["A", "Captains", "Abcdefghijklmnopqrstuvwx"];
const GROUPS: [&str; 3] = ["a", "crewcrew", "abcdefghijklmnopqrstuvwx"];
const VERSIONS: [&str; 3] = ["v1", "v1beta12", "v12345678alpha1234567890"];

#[test]
fn names_of_1_8_and_24_characters_are_formatted_in_both_orders() {
    let mut apis: Vec<[&str; 3]> = Vec::new();
    for kind in KINDS {
        for group in GROUPS {
            apis.extend(VERSIONS.map(|version| [kind, group, version]));
        }
    }
    assert_formatted(&apis);
    apis.reverse();
    assert_formatted(&apis);
}

/// Whether a signature or a path fits into a line depends on the name of the kind.
#[test]
fn kinds_of_each_length_are_formatted() {
    for (group, version) in [(GROUPS[0], VERSIONS[0]), (GROUPS[2], VERSIONS[2])] {
        let kinds: Vec<_> = (1..=24).map(|length| "K".repeat(length)).collect();
        let apis: Vec<_> = kinds
            .iter()
            .map(|kind| [kind.as_str(), group, version])
            .collect();
        assert_formatted(&apis);
    }
}

fn assert_formatted(apis: &[[&str; 3]]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    run(folder.path(), KBR, &["init", "--project-name", "captains"]);
    let mut reconciled = BTreeSet::new();
    for [kind, group, version] in apis {
        // Another version of a kind shares the first one's controller.
        let controller = format!("--controller={}", reconciled.insert((kind, group)));
        let words = [
            "create",
            "api",
            "--kind",
            kind,
            "--group",
            group,
            "--version",
            version,
        ];
        let resource = [&words[..], &["--resource", &controller]].concat();
        run(folder.path(), KBR, &resource);
        let words = [&["create", "webhook"], &words[2..]].concat();
        let webhooks = [&words[..], &["--defaulting", "--validation"]].concat();
        run(folder.path(), KBR, &webhooks);
    }
    for [kind, group, _] in apis.iter().filter(|api| api[2] == VERSIONS[1]) {
        let words = [
            "create",
            "webhook",
            "--conversion",
            "--version",
            VERSIONS[1],
        ];
        let kind = ["--kind", kind, "--group", group];
        run(folder.path(), KBR, &[&words[..], &kind[..]].concat());
    }
    run(folder.path(), "cargo", &["fmt", "--all", "--check"]);
}

#[test]
fn a_controller_for_any_built_in_kind_is_formatted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    run(folder.path(), KBR, &["init", "--project-name", "captains"]);
    let kinds = include_str!("../crates/scaffold/src/resource/kubernetes.txt").lines();
    let kinds: Vec<_> = kinds
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert!(kinds.len() > 80, "there are many kinds");
    let mut reconciled = BTreeSet::new();
    for line in kinds {
        let words: Vec<_> = line.split_whitespace().collect();
        let [group, version, kind, ..] = words[..] else {
            panic!("`{line}` is a group, a version and a kind");
        };
        // A second version would need another name.
        if reconciled.insert((group, kind)) {
            let group = if group == "-" { "core" } else { group };
            let words = [
                "create",
                "api",
                "--group",
                group,
                "--version",
                version,
                "--kind",
                kind,
            ];
            run(
                folder.path(),
                KBR,
                &[&words[..], &["--resource=false", "--controller"]].concat(),
            );
        }
    }
    run(folder.path(), "cargo", &["fmt", "--all", "--check"]);
}

/// Tests `KBR_LOCK_NAMES` names.
#[test]
fn the_lock_for_any_project_name_matches_cargos() {
    let lock = fs::read_to_string(repository().join("scaffolds/Cargo.lock")).expect("a lock");
    // Each name sorts directly after a crate of the lock; the crates are spread from the first to the last.
    let crates = lock
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let legal = |name: &&str| !name.contains('_') && name.len() < 39 && !name.starts_with("kbr-");
    let count =
        std::env::var("KBR_LOCK_NAMES").map_or(24, |count| count.parse().expect("a number"));
    let crates: Vec<_> = crates.filter(legal).collect();
    assert!(
        crates.len() >= count,
        "there are only {} crates",
        crates.len()
    );
    let names: Vec<_> = (0..count)
        .map(|number| format!("{}-0", crates[number * (crates.len() - 1) / (count - 1)]))
        .collect();

    let folder = tempfile::tempdir().expect("a temporary folder");
    for (number, name) in names.iter().enumerate() {
        let project = folder.path().join(name);
        fs::create_dir(&project).expect("a folder");
        run(&project, KBR, &["init", "--project-name", name]);
        let path = project.join("Cargo.lock");
        let before = fs::read(&path).expect("a lock");
        if number == 0 {
            run(&project, "cargo", &["fetch", "--locked"]);
        }
        run(
            &project,
            "cargo",
            &["metadata", "--offline", "--format-version", "1"],
        );
        let after = fs::read(&path).expect("a lock");
        assert!(before == after, "cargo changed the lock of `{name}`");
        fs::remove_dir_all(&project).expect("a removable folder");
    }
}

#[test]
fn no_dependency_needs_a_newer_rust_than_the_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    run(folder.path(), KBR, &["init", "--project-name", "captains"]);
    let metadata = run(
        folder.path(),
        "cargo",
        &["metadata", "--locked", "--format-version", "1"],
    );
    let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let named = |name: &str| packages.iter().find(|package| package["name"] == name);
    let ours = rust(named("captains").expect("the operator")).expect("a version of Rust");
    let newer: Vec<_> = packages
        .iter()
        .filter(|package| rust(package) > Some(ours))
        .map(|package| &package["id"])
        .collect();
    assert!(newer.is_empty(), "newer than {ours:?}: {newer:#?}");
    let with_version = packages.iter().filter(|package| rust(package).is_some());
    assert!(with_version.count() > 100);
}

/// The `rust-version` of a package: 1.89 or 1.89.0 is (1, 89).
fn rust(package: &Value) -> Option<(u32, u32)> {
    let version = package["rust_version"].as_str()?;
    let mut numbers = version
        .split('.')
        .map(|number| number.parse().expect("a number"));
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Returns the program's stdout.
fn run(folder: &Path, program: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output();
    let output = output.unwrap_or_else(|error| panic!("cannot run `{program}`: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "`{program} {}`: {printed}{out}",
        args.join(" ")
    );
    output.stdout
}
