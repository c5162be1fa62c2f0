//! An upgrade with conflicts that is killed at any step, and its `--abort`.

use std::fs;

use kbr_scaffold::predecessor::VERSION;
use serde_json::{Value, json};

use super::project::{Project, Tree, run, stderr};
use super::{reached, steps};

const PROJECT: &str = include_str!("../golden/a_first_webhook/out/PROJECT");

/// A project of an earlier release, with an edit that conflicts and one that does not.
fn project() -> Project {
    let project = Project::missing();
    fs::create_dir_all(&project.root).unwrap();
    project.write("PROJECT", PROJECT);
    let output = run(&project, &json!(["faults-render", VERSION, "."]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let main = project.read("src/main.rs");
    let edited = main.replace("async fn main() -> ", "async fn main() -> mine::");
    assert_ne!(main, edited);
    project.write("src/main.rs", &edited);
    project.write("notes", "mine");
    project
}

fn upgrade() -> Value {
    json!(["upgrade", "--no-check"])
}

fn abort() -> Value {
    json!(["upgrade", "--abort"])
}

/// The state before and after an upgrade; folders do not count, since one of the library stays empty.
fn files(project: &Project) -> Tree {
    let mut tree = project.tree();
    tree.retain(|_, (kind, _, _)| *kind != 'd');
    tree
}

/// The distance between the steps that get a fault; an upgrade has about 270. With a prime number, each file gets the fault at another
/// of the same few steps.
fn stride() -> usize {
    let stride = std::env::var("KBR_UPGRADE_STRIDE");
    stride.map_or(23, |stride| stride.parse().unwrap())
}

#[test]
fn an_upgrade_that_was_killed_is_finished_and_can_be_aborted() {
    let project_before = project();
    let before = files(&project_before);
    let output = run(&project_before, &upgrade(), "");
    assert!(
        stderr(&output).contains("kbr upgrade --continue"),
        "{}",
        stderr(&output)
    );
    let after = files(&project_before);
    assert!(project_before.read("src/main.rs").contains("<<<<<<< yours"));

    steps(stride(), |step| {
        let project = project();
        let killed = run(&project, &upgrade(), &format!("{step}:kill"));
        let next = run(&project, &upgrade(), "");
        assert!(
            files(&project) == after,
            "kill at {step}: {}",
            stderr(&next)
        );
        let aborted = run(&project, &abort(), "");
        assert!(
            aborted.status.success(),
            "kill at {step}: {}",
            stderr(&aborted)
        );
        assert!(
            files(&project) == before,
            "kill at {step}: {}",
            stderr(&aborted)
        );
        assert!(!project.has_commit(), "kill at {step}: `.kbr` still exists");
        reached(&stderr(&killed))
    });
}

/// Whether a copy with this content is kept.
fn kept(project: &Project, content: &[u8]) -> bool {
    let folders = fs::read_dir(project.root.join(".kbr")).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path());
    let kept = folders.filter(|folder| folder.to_string_lossy().contains("/before-upgrade-"));
    kept.flat_map(|folder| fs::read_dir(folder).unwrap())
        .any(|copy| fs::read(copy.unwrap().path()).unwrap() == content)
}

#[test]
fn an_abort_that_was_killed_is_finished_by_the_next() {
    let project_before = project();
    let before = files(&project_before);
    steps(stride(), |step| {
        let project = project();
        run(&project, &upgrade(), "");
        // Edited since, so its copy is kept.
        let makefile = before["Makefile"].2.clone();
        project.write("Makefile", "mine");
        let killed = run(&project, &abort(), &format!("{step}:kill"));
        let next = run(&project, &abort(), "");
        assert_eq!(project.read("Makefile"), "mine");
        assert!(
            kept(&project, &makefile),
            "kill at {step}: {}",
            stderr(&next)
        );
        fs::write(project.root.join("Makefile"), &makefile).unwrap();
        assert!(
            files(&project) == before,
            "kill at {step}: {}",
            stderr(&next)
        );
        // The next command removes what is left of it.
        let check = run(&project, &json!(["upgrade", "--no-check", "--dry-run"]), "");
        assert!(check.status.success(), "kill at {step}: {}", stderr(&check));
        reached(&stderr(&killed))
    });
}
