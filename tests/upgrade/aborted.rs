//! Upgrades that are aborted: the files before come back, and what was edited since stays.

use std::fs;

use crate::{Project, files};

#[test]
fn an_aborted_upgrade_leaves_the_project_as_it_was() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    project.fails("kbr upgrade --no-check");
    let report = project.runs("kbr upgrade --abort");
    assert!(report.ends_with("restored kbr 0.2.9\n"), "{report}");
    assert_eq!(files(&project.root), before);
    assert_eq!(project.runs("git status --short"), "");
    assert!(!project.root.join(".kbr").exists());
}

#[test]
fn an_abort_keeps_what_was_edited_since_and_the_file_before() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    let main = project.read("src/main.rs");
    project.fails("kbr upgrade --no-check");
    fs::write(project.root.join("src/main.rs"), "// half resolved\n").expect("a writable file");
    let report = project.fails("kbr upgrade --abort");
    let copy = report
        .split("src/main.rs (before the upgrade: `")
        .nth(1)
        .expect("the copy");
    let copy = copy.split('`').next().expect("its path");
    assert_eq!(project.read(copy), main);
    assert_eq!(project.read("src/main.rs"), "// half resolved\n");
    let mut after = files(&project.root);
    after.retain(|path, _| !path.starts_with(".kbr/") && path != "src/main.rs");
    let mut expected = before;
    expected.remove("src/main.rs");
    assert_eq!(after, expected);
    // The upgrade has ended, so another one can begin.
    project.runs("git checkout --quiet . && kbr upgrade --dry-run");
}

#[test]
fn an_abort_takes_back_the_release_of_an_edited_project_file() {
    let project = Project::new();
    project.conflicts();
    project.fails("kbr upgrade --no-check");
    project.runs("sed -i '1i # mine' PROJECT");
    let report = project.fails("kbr upgrade --abort");
    assert!(
        report.contains("  PROJECT (before the upgrade: `.kbr/before-upgrade-1/"),
        "{report}"
    );
    let text = project.read("PROJECT");
    assert!(
        text.starts_with("# mine\n") && text.contains("\nkbr = \"0.2.9\"\n"),
        "{text}"
    );
    project.runs("kbr upgrade --dry-run");
}

#[test]
fn kept_copies_outlive_the_next_upgrade() {
    let project = Project::new();
    project.conflicts();
    let main = project.read("src/main.rs");
    project.fails("kbr upgrade --no-check || echo mine >>src/main.rs; kbr upgrade --abort");
    let copy = fs::read_dir(project.root.join(".kbr/before-upgrade-1"))
        .expect("copies")
        .next();
    let copy = copy.expect("a copy").expect("a file").path();
    assert_eq!(fs::read_to_string(&copy).expect("a file"), main);
    project.fails("kbr upgrade --no-check --allow-dirty");
    project.runs("kbr upgrade --abort");
    assert_eq!(fs::read_to_string(&copy).expect("a file"), main);
}

#[test]
fn what_was_staged_before_is_staged_again_after_an_abort() {
    let project = Project::new();
    project.conflicts();
    project.runs(
        "echo '// staged' >>src/main.rs; git add src/main.rs; echo '// not staged' >>src/main.rs",
    );
    let staged = project.runs("git show :src/main.rs");
    project.fails("kbr upgrade --no-check --allow-dirty");
    project.runs("kbr upgrade --abort");
    assert_eq!(project.runs("git show :src/main.rs"), staged);
    assert!(
        project
            .read("src/main.rs")
            .ends_with("// staged\n// not staged\n")
    );
}
