//! Golden projects: the files that each command writes, and its output.
//!
//! A case is a folder `tests/golden/<sentence>/`:
//!
//! - `cmd`: a shell script, run in an empty folder named `captains`;
//! - `from` (optional): another case, whose script is run first;
//! - `in/` (optional): files put there before `cmd` runs;
//! - `out/`: every file that `cmd` created or changed, and no other;
//! - `gone` (only if there are any): every file that it removed, one a line;
//! - `said`: its output and exit code.
//!
//! The packages of the library, in `third_party/`, are not compared (`tests/package/` does that), so that no case changes when the
//! library does, and what kbr prints about them is `[files]`; `Cargo.lock` is compared only where a case has one in `out/`.
//! `UPDATE=1` rewrites `out/` and `said`.

mod support;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use kbr_scaffold::library;
use support::{copy, folders, repository, shell, stderr, stdout, tree, write};

type Tree = BTreeMap<String, Vec<u8>>;

#[test]
fn every_case_matches_its_record() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = String::new();
    let cases = folders(&repository().join("tests/golden"));
    assert!(!cases.is_empty(), "there are cases");
    for case in &cases {
        let found = run(case);
        if update {
            record(case, &found);
        } else {
            compare(case, &found, &mut wrong);
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}\nUPDATE=1 cargo test --test golden records the current output"
    );
}

struct Found {
    files: Tree,
    said: String,
    /// The removed files, one a line.
    gone: String,
}

fn run(case: &Path) -> Found {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let folder = temp.path().join("captains");
    fs::create_dir(&folder).expect("a folder");
    for earlier in chain(case) {
        let output = shell(&folder, &script(&earlier));
        assert!(
            output.status.success(),
            "{}: {}",
            earlier.display(),
            stderr(&output, &folder)
        );
    }
    copy(&case.join("in"), &folder);
    let before = tree(&folder);
    let output = shell(&folder, &script(case));
    let mut said = String::new();
    let exit = output.status.code().expect("an exit code");
    for (name, text) in [
        ("stdout", stdout(&output, &folder)),
        ("stderr", stderr(&output, &folder)),
    ] {
        if !text.is_empty() {
            writeln!(said, "# {name}\n{text}").expect("a string takes it");
        }
    }
    writeln!(said, "# exit {exit}").expect("a string takes it");
    let mut files = tree(&folder);
    let gone = before
        .keys()
        .filter(|path| !files.contains_key(*path) && !library::has(path));
    let gone = gone.fold(String::new(), |list, path| list + path + "\n");
    files.retain(|path, text| before.get(path) != Some(text));
    summarize(case, &mut files);
    Found {
        files,
        said: without_library(&said),
        gone,
    }
}

/// The cases whose scripts run before that of `case`, in order.
fn chain(case: &Path) -> Vec<PathBuf> {
    let Ok(from) = fs::read_to_string(case.join("from")) else {
        return Vec::new();
    };
    let from = case.with_file_name(from.trim());
    let mut all = chain(&from);
    all.push(from);
    all
}

fn script(case: &Path) -> String {
    fs::read_to_string(case.join("cmd"))
        .unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

/// Removes the library, and the lock if the case does not record it.
fn summarize(case: &Path, files: &mut Tree) {
    files.retain(|path, _| !library::has(path));
    if !case.join("out/Cargo.lock").exists() {
        files.remove("Cargo.lock");
    }
}

/// Replaces the version and number of files in lines about the library: `third_party/kbr-manager (kbr-manager 0.2.0, 93 files)`.
fn without_library(said: &str) -> String {
    let line = |line: &str| {
        let is_counted =
            line.contains("third_party/") && line.trim_end_matches(')').ends_with(" files");
        let named = line.rsplit_once(" (").or_else(|| line.rsplit_once(": "));
        match named.filter(|_| is_counted) {
            Some((before, _)) => format!("{before} [files]\n"),
            None => format!("{line}\n"),
        }
    };
    said.lines().map(line).collect()
}

fn record(case: &Path, found: &Found) {
    let out = case.join("out");
    for path in tree(&out).keys() {
        if !found.files.contains_key(path) {
            fs::remove_file(out.join(path)).expect("a removable file");
        }
    }
    for (path, text) in &found.files {
        write(&out.join(path), text);
    }
    write(&case.join("said"), found.said.as_bytes());
    if found.gone.is_empty() {
        fs::remove_file(case.join("gone")).ok();
    } else {
        write(&case.join("gone"), found.gone.as_bytes());
    }
}

fn compare(case: &Path, found: &Found, wrong: &mut String) {
    let mut expected = tree(&case.join("out"));
    let said = fs::read(case.join("said")).unwrap_or_default();
    expected.insert("said".into(), said);
    let gone = fs::read(case.join("gone")).unwrap_or_default();
    expected.insert("gone".into(), gone);
    let mut actual = found.files.clone();
    actual.insert("said".into(), found.said.clone().into_bytes());
    actual.insert("gone".into(), found.gone.clone().into_bytes());
    let name = case
        .file_name()
        .expect("a case has a name")
        .to_string_lossy();
    for (path, text) in &actual {
        match expected.get(path) {
            None => writeln!(wrong, "{name}: `{path}` is new"),
            Some(old) if old != text => {
                writeln!(wrong, "{name}: `{path}`: {}", first_difference(old, text))
            }
            Some(_) => Ok(()),
        }
        .expect("a string takes it");
    }
    for path in expected.keys().filter(|path| !actual.contains_key(*path)) {
        writeln!(wrong, "{name}: `{path}` is missing").expect("a string takes it");
    }
}

fn first_difference(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let lines = old.lines().zip(new.lines()).enumerate();
    for (number, (old, new)) in lines {
        if old != new {
            return format!("line {}\n  - {old}\n  + {new}", number + 1);
        }
    }
    format!(
        "{} lines, and now {}",
        old.lines().count(),
        new.lines().count()
    )
}
