use std::fs;

use super::*;
use crate::blueprint::{Blueprint, Presence, Source, difference};
use crate::checkout;
use crate::scaffold::{Part, Policy};

mod places;
mod project;

const MARKER: &str = "// +kbr:scaffold:m\n";

/// One operation of the command under test.
#[derive(Clone)]
enum Op {
    Part(Part),
    Head(String),
    Table(String),
}

/// Whether PROJECT has the command's tables, and whether it has `--force`.
#[derive(Clone, Copy, Debug)]
enum Run {
    First,
    Again,
    Force,
}

fn whole(path: &str, policy: Policy, text: &str) -> Op {
    Op::Part(Part::Whole {
        path: path.into(),
        policy,
        text: text.into(),
    })
}

fn create(path: &str, text: &str) -> Op {
    whole(path, Policy::Owned, text)
}

fn once(path: &str, text: &str) -> Op {
    whole(path, Policy::Once, text)
}

fn insert(path: &str, lines: &str) -> Op {
    Op::Part(Part::Lines {
        path: path.into(),
        marker: "m".into(),
        once: false,
        lines: lines.into(),
    })
}

/// A table for PROJECT, or its initial text.
fn record(text: &str) -> Op {
    if text.starts_with('[') {
        Op::Table(text.into())
    } else {
        Op::Head(text.into())
    }
}

fn resolved(root: &Path, ops: &[Op], run: Run) -> anyhow::Result<Vec<Change>> {
    let (mut parts, mut records) = (Vec::new(), Records::default());
    for op in ops.iter().cloned() {
        match op {
            Op::Part(part) => parts.push(part),
            Op::Head(text) => records.head = Some(text),
            Op::Table(text) => records.tables.push(text),
        }
    }
    let mut tree = Blueprint::default();
    tree.add(Source::Head, parts)?;
    let presence = match run {
        Run::Again => Presence::Recorded,
        Run::First | Run::Force => Presence::New,
    };
    let wanted = difference(
        &tree,
        &[(Source::Head, presence)],
        matches!(run, Run::Force),
    );
    resolve(root, &wanted, &[], &records, &checkout::current().scaffolds)
}

/// A project with these files.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// `after` holds the planned changes: verb, path, text.
fn check_with(before: &[(&str, &str)], ops: &[Op], run: Run, after: &[(Verb, &str, &str)]) {
    let root = project(before);
    let changes = resolved(root.path(), ops, run).unwrap();
    let texts: Vec<String> = changes
        .iter()
        .map(|change| String::from_utf8(change.after.clone()).unwrap())
        .collect();
    let found: Vec<_> = changes
        .iter()
        .zip(&texts)
        .map(|(it, text)| (it.verb, it.path.as_str(), text.as_str()))
        .collect();
    assert_eq!(found, after);
    for change in &changes {
        let disk = fs::read(root.path().join(&change.path)).ok();
        assert_eq!(change.before, disk, "{}", change.path);
        assert_eq!(
            change.writes(),
            matches!(change.verb, Verb::Create | Verb::Insert | Verb::Force),
            "{}",
            change.path
        );
    }
}

fn check(before: &[(&str, &str)], ops: &[Op], after: &[(Verb, &str, &str)]) {
    check_with(before, ops, Run::First, after);
}

fn conflicts_in(root: &Path, ops: &[Op]) -> String {
    resolved(root, ops, Run::First).unwrap_err().to_string()
}

fn check_rejected(before: &[(&str, &str)], ops: &[Op], error: &str) {
    assert_eq!(conflicts_in(project(before).path(), ops), error);
}

#[test]
fn new_files_are_created_in_order_of_path_with_project_last() {
    check(
        &[],
        &[record("name = 1\n"), once("z", "z"), create("a/b", "b")],
        &[
            (Verb::Create, "a/b", "b"),
            (Verb::Create, "z", "z"),
            (Verb::Create, "PROJECT", "name = 1\n"),
        ],
    );
}

#[test]
fn a_missing_root_has_no_files() {
    let root = project(&[]);
    let changes = resolved(&root.path().join("x/y"), &[create("a", "b")], Run::First).unwrap();
    assert_eq!(
        changes,
        [Change {
            path: "a".into(),
            verb: Verb::Create,
            before: None,
            after: "b".into()
        }]
    );
}

#[test]
fn a_differing_owned_file_is_a_conflict_or_kept_or_overwritten() {
    let (before, ops) = ([("a", "mine")], [create("a", "kbr's")]);
    check_rejected(
        &before,
        &ops,
        "a conflict\n  `a` exists and differs\n\
         help: pass `--force` to overwrite the files that differ, or move them away; if kbr created them, restore their table in `PROJECT` instead",
    );
    check_with(&before, &ops, Run::Again, &[(Verb::Keep, "a", "mine")]);
    check_with(&before, &ops, Run::Force, &[(Verb::Force, "a", "kbr's")]);
}

#[test]
fn an_equal_owned_file_is_reported_as_same() {
    for run in [Run::First, Run::Again, Run::Force] {
        check_with(
            &[("a", "b")],
            &[create("a", "b")],
            run,
            &[(Verb::Same, "a", "b")],
        );
    }
}

#[test]
fn a_shared_file_is_kept_even_with_force() {
    for run in [Run::First, Run::Again, Run::Force] {
        check_with(
            &[("a", "mine")],
            &[once("a", "b")],
            run,
            &[(Verb::Keep, "a", "mine")],
        );
    }
    check(&[("a", "b")], &[once("a", "b")], &[(Verb::Same, "a", "b")]);
}

#[test]
fn insertions_are_applied_after_files_in_any_order() {
    check(
        &[],
        &[insert("a.rs", "x\n"), once("a.rs", MARKER)],
        &[(Verb::Create, "a.rs", "x\n// +kbr:scaffold:m\n")],
    );
    check(
        &[],
        &[once("a.rs", MARKER), once("a.rs", "other")],
        &[(Verb::Create, "a.rs", MARKER)],
    );
}

#[test]
fn lines_are_inserted_into_an_existing_file() {
    check(
        &[("a.rs", MARKER)],
        &[insert("a.rs", "x\n"), insert("a.rs", "y\n")],
        &[(Verb::Insert, "a.rs", "x\ny\n// +kbr:scaffold:m\n")],
    );
    check(
        &[("a.rs", MARKER)],
        &[insert("a.rs", "x\n"), once("a.rs", "y")],
        &[(Verb::Insert, "a.rs", "x\n// +kbr:scaffold:m\n")],
    );
}

#[test]
fn repeating_a_command_changes_nothing() {
    let after = "x\n// +kbr:scaffold:m\n";
    check(
        &[("a.rs", after)],
        &[insert("a.rs", "x\n")],
        &[(Verb::Same, "a.rs", after)],
    );
    check(
        &[("a.rs", after)],
        &[insert("a.rs", "x\n"), create("a.rs", MARKER)],
        &[(Verb::Same, "a.rs", after)],
    );
    check(
        &[("a.rs", "x\nmine\n// +kbr:scaffold:m\n")],
        &[insert("a.rs", "x\n"), once("a.rs", MARKER)],
        &[(Verb::Keep, "a.rs", "x\nmine\n// +kbr:scaffold:m\n")],
    );
}

#[test]
fn a_missing_file_or_marker_is_a_conflict_with_the_line_to_paste() {
    check_rejected(
        &[("b.yaml", "x\n")],
        &[
            insert("a.rs", "new(\n    1);\n"),
            insert("b.yaml", "- new\n- newer\n"),
        ],
        "2 conflicts
  `a.rs` is missing, but kbr must insert lines into it
  `b.yaml` has no marker `+kbr:scaffold:m`
help: restore `a.rs` (`git checkout -- a.rs`), or create it with these markers:
    // +kbr:scaffold:m
help: add this line to `b.yaml`, where these lines belong:
    # +kbr:scaffold:m
  kbr inserts above it:
    - new
    - newer",
    );
}

#[test]
fn a_repeated_marker_is_a_conflict_with_both_lines() {
    check_rejected(
        &[("a.rs", "// +kbr:scaffold:m\nx\n// +kbr:scaffold:m\n")],
        &[insert("a.rs", "y")],
        "a conflict
  `a.rs` has the marker `+kbr:scaffold:m` in lines 1 and 3
help: keep only one of the lines 1 and 3 of `a.rs`; kbr inserts above it:
    // +kbr:scaffold:m",
    );
}

#[test]
fn every_conflict_is_listed_and_each_help_printed_once() {
    check_rejected(
        &[("a", "1"), ("b", "2"), ("c/d", "")],
        &[
            create("a", ""),
            create("b", ""),
            create("c", ""),
            create("a/b", ""),
        ],
        "4 conflicts
  `a` exists and differs
  `a/b` cannot be created: `a` is a file
  `b` exists and differs
  `c` is a folder
help: pass `--force` to overwrite the files that differ, or move them away; if kbr created them, restore their table in `PROJECT` instead
help: move the file `a` away: kbr needs a folder there
help: move `c` away: kbr needs a file there",
    );
}

#[test]
fn only_a_file_that_gets_lines_must_be_utf8() {
    let root = project(&[]);
    fs::write(root.path().join("a.rs"), b"\xff// +kbr:scaffold:m").unwrap();
    let error = conflicts_in(root.path(), &[insert("a.rs", "x")]);
    assert!(
        error.contains("`a.rs` is not UTF-8 text\nhelp: convert"),
        "{error}"
    );
    let changes = resolved(root.path(), &[create("a.rs", "x")], Run::Again).unwrap();
    assert_eq!(
        (changes[0].verb, changes[0].after.as_slice()),
        (Verb::Keep, b"\xff// +kbr:scaffold:m".as_slice())
    );
}

#[test]
fn an_insertion_that_breaks_toml_is_a_conflict() {
    let manifest = "[dependencies]\nkube = \"4\"\n# +kbr:scaffold:m\n";
    let root = project(&[("Cargo.toml", manifest)]);
    let error = conflicts_in(root.path(), &[insert("Cargo.toml", "tokio = ")]);
    assert!(
        error.contains("`Cargo.toml` would not be valid TOML:")
            && error.contains("TOML parse error"),
        "{error}"
    );
    check(
        &[("a.toml", "\u{feff}[a]\r\n# +kbr:scaffold:m\r\n")],
        &[insert("a.toml", "b = 1")],
        &[(
            Verb::Insert,
            "a.toml",
            "\u{feff}[a]\r\nb = 1\r\n# +kbr:scaffold:m\r\n",
        )],
    );
    check(
        &[("a.toml", "broken")],
        &[once("a.toml", "b = 1")],
        &[(Verb::Keep, "a.toml", "broken")],
    );
}

#[test]
fn an_insertion_that_breaks_yaml_is_a_conflict() {
    let list = "resources: [a.yaml]\n# +kbr:scaffold:m\n";
    let root = project(&[("kustomization.yaml", list)]);
    let error = conflicts_in(root.path(), &[insert("kustomization.yaml", "- b.yaml")]);
    assert!(
        error.contains("`kustomization.yaml` would not be valid YAML:"),
        "{error}"
    );
}

#[test]
fn a_marker_in_another_table_of_toml_is_a_conflict() {
    let manifest = "[dependencies]\nserde = \"1\"\n\n[dependencies.kube]\nversion = \"5\"\n\n# +kbr:scaffold:dependencies\n";
    let root = project(&[("Cargo.toml", manifest)]);
    let lines = Op::Part(Part::Lines {
        path: "Cargo.toml".into(),
        marker: "dependencies".into(),
        once: false,
        lines: "crew = \"1\"".into(),
    });
    let error = conflicts_in(root.path(), &[lines]);
    let text = "`Cargo.toml` has the marker `+kbr:scaffold:dependencies` in line 7, outside of the table `[dependencies]`";
    assert!(error.contains(text), "{error}");
}

#[test]
fn lines_without_their_marker_are_a_template_error() {
    let error = conflicts_in(project(&[]).path(), &[create("a", ""), insert("a", "x\n")]);
    assert!(error.contains("`a` needs the marker `m` once"), "{error}");
}
