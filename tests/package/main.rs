//! Projects get the library exactly as cargo publishes it. `tests/package/release` proves that a published kbr contains it.

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use kbr_scaffold::library::packages;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use support::{repository, shell, stderr, tree};

/// The files that cargo adds to a package, which differ between builds of the same sources.
const NOT_OURS: [&str; 3] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml.orig"];

/// How the published manifest of kbr-testing names a package of the library, and that package: in a project, it is the copy beside it.
const DEPENDENCIES: [(&str, &str); 3] = [
    ("[dependencies.apiserver-fake]\n", "apiserver-fake"),
    ("[dependencies.apiserver-rules]\n", "apiserver-rules"),
    ("[dependencies.manager]\n", "kbr-manager"),
];

/// The files of the packages by package, with the manifests that projects get.
fn published() -> BTreeMap<&'static str, BTreeMap<String, Vec<u8>>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let words = "package --no-verify --allow-dirty --exclude-lockfile --offline";
    let output = Command::new(env!("CARGO"))
        .args(words.split(' '))
        .args(packages().flat_map(|package| ["--package", package]))
        .arg("--target-dir")
        .arg(folder)
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let files = |package| {
        let unpack = format!("tar -xzf package/{package}-*.crate && mv {package}-* {package}");
        let output = shell(folder, &unpack);
        assert!(output.status.success(), "{}", stderr(&output, folder));
        let mut files = tree(&folder.join(package));
        files.retain(|path, _| !NOT_OURS.contains(&path.as_str()));
        let manifest = String::from_utf8_lossy(&files["Cargo.toml"]);
        let mut manifest = manifest.into_owned();
        for (dependency, package) in DEPENDENCIES {
            let beside = format!("{dependency}path = \"../{package}\"\n");
            manifest = manifest.replace(dependency, &beside);
        }
        files.insert("Cargo.toml".to_owned(), manifest.into_bytes());
        (package, files)
    };
    packages().map(files).collect()
}

#[test]
fn the_manifests_in_library_are_those_that_cargo_publishes() {
    for (package, files) in published() {
        let name = format!("library/{package}/Cargo.toml.normalised");
        let path = repository().join(&name);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &files["Cargo.toml"]).expect("a writable file");
        }
        let found = fs::read(&path).expect("a readable file");
        assert!(
            found == files["Cargo.toml"],
            "{name} is stale: `make update` rewrites it"
        );
    }
}

#[test]
fn the_runtime_does_not_depend_on_the_crate_for_tests() {
    let files = published();
    let manifest = |package| String::from_utf8_lossy(&files[package]["Cargo.toml"]);
    for package in packages().filter(|package| *package != "kbr-manager") {
        assert!(!manifest("kbr-manager").contains(package), "{package}");
    }
    let testing = manifest("kbr-testing");
    for (dependency, package) in DEPENDENCIES {
        let beside = format!("{dependency}path = \"../{package}\"\n");
        assert!(testing.contains(&beside), "{beside}{testing}");
    }
}

#[test]
fn a_new_project_has_the_published_library_and_its_checksums() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = shell(folder.path(), "kbr init --project-name captains");
    assert!(
        output.status.success(),
        "{}",
        stderr(&output, folder.path())
    );
    for (package, expected) in published() {
        let mut found = tree(&folder.path().join("third_party").join(package));
        let checksums = found.remove(".cargo-checksum.json").expect("checksums");
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected));
        let differs = |path: &&String| found[*path] != expected[*path];
        assert_eq!(found.keys().find(differs), None);

        let checksums: Value = serde_json::from_slice(&checksums).expect("JSON");
        let sums: BTreeMap<_, _> = expected
            .iter()
            .map(|(path, bytes)| (path, sha256(bytes)))
            .collect();
        assert_eq!(checksums, json!({ "files": sums }));
    }
}

/// Like [`shell`], with the cargo and rustfmt of this test.
fn shell_with_cargo(folder: &Path, script: &str) -> std::process::Output {
    let path = std::env::var("PATH").expect("there is a PATH");
    let home = std::env::var("HOME").expect("there is a HOME");
    shell(
        folder,
        &format!("export PATH=\"$PATH:{path}\" HOME='{home}'\n{script}"),
    )
}

fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("a string takes it");
    }
    hex
}

#[test]
fn the_error_of_create_tells_how_to_restore_a_missing_library() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let create = "kbr create api --group crew --version v1 --kind Captain --yes";
    let script =
        format!("kbr init --project-name captains; rm -r third_party/kbr-manager; {create}");
    let output = shell(folder.path(), &script);
    let printed = stderr(&output, folder.path());
    assert!(
        printed.ends_with("help: run `kbr init` to restore the library\n"),
        "{printed}"
    );
    assert!(!folder.path().join("src/controllers/captain.rs").exists());
    let output = shell(folder.path(), &format!("kbr init; {create}"));
    assert!(
        output.status.success(),
        "{}",
        stderr(&output, folder.path())
    );
}

#[test]
fn make_fmt_leaves_the_library_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |script: &str| {
        let output = shell_with_cargo(folder.path(), script);
        assert!(
            output.status.success(),
            "{}",
            stderr(&output, folder.path())
        );
    };
    run("kbr init --project-name captains");
    fs::write(
        folder.path().join("rustfmt.toml"),
        "max_width = 60\nhard_tabs = true\n",
    )
    .expect("a writable file");
    let before = tree(folder.path());
    run("make fmt");
    let after = tree(folder.path());
    let library = |path: &&String| path.starts_with("third_party/");
    assert!(before["src/main.rs"] != after["src/main.rs"]);
    let changed = |path: &&String| before[*path] != after[*path];
    assert_eq!(after.keys().filter(library).find(changed), None);
    run("cargo fmt --all && cargo fmt --all --check");
    assert!(tree(folder.path()) == after);
}

#[test]
fn a_checkout_with_crlf_keeps_the_library_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "
        kbr init --directory captains --project-name captains
        cd captains
        git init --quiet
        git add --all
        git -c user.name=crew -c user.email=crew@example.com commit --quiet --message all
        git -c core.autocrlf=true clone --quiet . ../clone";
    let output = shell(folder.path(), script);
    assert!(
        output.status.success(),
        "{}",
        stderr(&output, folder.path())
    );
    let before = tree(&folder.path().join("captains/third_party"));
    let clone = folder.path().join("clone");
    let after = tree(&clone.join("third_party"));
    let changed = |path: &&String| after.get(*path) != before.get(*path);
    assert_eq!(before.keys().find(changed), None);
    let main = fs::read_to_string(clone.join("src/main.rs")).expect("a file");
    assert!(main.contains("\r\n"), "{main:?}");
}

#[test]
fn no_unit_test_is_published() {
    for (package, files) in published() {
        assert!(files.keys().all(|path| !is_test(Path::new(path))));
        assert!(files.len() > 10, "{package}: {} files", files.len());
    }
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| {
        ["tests", "tests.rs"]
            .map(AsRef::as_ref)
            .contains(&part.as_os_str())
    })
}
