//! Upgrades with conflicts, as git shows them, until they are resolved.

use std::fs;

use crate::support::{shell, stderr, stdout};
use crate::{Project, files};

#[test]
fn conflicts_are_those_of_a_merge_until_they_are_resolved() {
    let project = Project::new();
    project.conflicts();
    let report = project.fails("kbr upgrade --no-check");
    assert!(
        report.contains("git mergetool`:\n  src/main.rs\nthen:\n  kbr upgrade --continue"),
        "{report}"
    );
    let main = project.read("src/main.rs");
    assert!(
        main.contains("<<<<<<< yours\nasync fn main() -> Mine {\n||||||| kbr 0.2.9\n"),
        "{main}"
    );
    assert!(
        main.contains("\n=======\nasync fn main() -> ExitCode {\n>>>>>>> kbr 0.3.0\n"),
        "{main}"
    );
    let status = project.runs("git status --short | grep ^U");
    assert_eq!(status, "UU src/main.rs\n");
    let base = project.runs("git show :1:src/main.rs | grep 'async fn main'");
    assert_eq!(base, "async fn main() -> anyhow::Result<()> {\n");

    // Nothing else writes until then.
    let before = files(&project.root);
    for command in [
        "create api --group crew --version v1 --kind Mate --yes",
        "upgrade --allow-dirty",
        "upgrade --check",
    ] {
        let error = project.fails(&format!("kbr {command}"));
        assert!(
            error
                .contains("the upgrade from kbr 0.2.9 to 0.3.0 is unfinished; nothing was written"),
            "{command}: {error}"
        );
        assert!(
            error.contains("help: resolve the conflicts in `src/main.rs`"),
            "{command}: {error}"
        );
    }
    let error = project.fails("kbr upgrade --continue --no-check");
    assert!(error.contains("src/main.rs:24: <<<<<<< yours\n"), "{error}");
    assert_eq!(files(&project.root), before);

    let resolved = "sed -i -e '/^<<<<<<< /,/^=======$/d' -e '/^>>>>>>> /d' src/main.rs";
    project.runs(resolved);
    let report = project.runs("kbr upgrade --continue --no-check");
    assert_eq!(report, "upgraded the project to kbr 0.3.0\n");
    assert_eq!(project.runs("git status --short | grep ^U || true"), "");
    assert!(!project.root.join(".kbr").exists());
    let error = project.fails("kbr upgrade --continue");
    assert!(error.contains("no unfinished upgrade found"), "{error}");
}

#[test]
fn a_conflict_can_be_resolved_by_deleting_the_file() {
    let project = Project::new();
    project.conflicts();
    project.fails("kbr upgrade --no-check");
    project.runs("rm src/main.rs && kbr upgrade --continue --no-check");
    assert_eq!(project.runs("git ls-files --unmerged"), "");
}

#[test]
fn an_upgrade_that_was_stashed_is_still_unfinished() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    project.fails("kbr upgrade --no-check");
    let git = "git -c user.name=a -c user.email=a@b.c";
    project.runs(&format!("git add --all && {git} stash --quiet"));
    let error = project.fails("kbr create api --group crew --version v1 --kind Mate --yes");
    assert!(error.contains("is unfinished"), "{error}");
    let error = project.fails("kbr upgrade --continue --no-check");
    assert!(
        error.contains("PROJECT says kbr 0.2.9: this checkout lacks the unfinished upgrade"),
        "{error}"
    );
    project.runs(&format!("{git} stash pop --quiet"));
    project.runs("kbr upgrade --abort");
    assert_eq!(files(&project.root), before);
}

#[test]
fn an_upgrade_does_not_hide_the_conflicts_of_another_merge() {
    let project = Project::new();
    let git = "git -c user.name=a -c user.email=a@b.c";
    project.runs(&format!(
        "git switch --quiet --create other && echo a >>README.md && {git} commit --quiet --all --message a
        git switch --quiet - && echo b >>README.md && {git} commit --quiet --all --message b; {git} merge --quiet other || true"
    ));
    let before = files(&project.root);
    let error = project.fails("kbr upgrade --no-check --allow-dirty");
    assert!(
        error.contains("unresolved merge conflicts; nothing was written\n    README.md\n"),
        "{error}"
    );
    assert_eq!(files(&project.root), before);
}

#[test]
fn a_project_in_a_folder_of_a_repository_is_upgraded_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = Project::new();
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).expect("a folder");
    let script = format!(
        "mv '{}' captains && rm -r captains/.git && echo a >other && git init --quiet . && git add captains && git -c user.name=a -c user.email=a@b.c commit --quiet --message all",
        project.root.display()
    );
    assert!(shell(&whole, &script).status.success());
    let main = whole.join("captains/src/main.rs");
    let text = fs::read_to_string(&main).expect("a file");
    fs::write(
        &main,
        text.replace(
            "async fn main() -> anyhow::Result<()>",
            "async fn main() -> Mine",
        ),
    )
    .expect("a writable file");
    let output = shell(
        &whole,
        "git -c user.name=a -c user.email=a@b.c commit --quiet --all --message mine; cd captains; kbr upgrade --no-check",
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output, &whole));
    let output = shell(&whole, "git status --short | grep ^U");
    assert_eq!(stdout(&output, &whole), "UU captains/src/main.rs\n");
}
