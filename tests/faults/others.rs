//! Other programs and users that change the same project.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::Value;

use crate::project::{Project, create_api, nothing, run, start, stderr};
use crate::{SHORT, assert_ends, each_step, outcomes, reached};

/// Starts the plan with a stop at `step`, and waits for the stop. `None` if the plan ended before.
fn stopped(project: &Project, step: usize) -> Option<Child> {
    let child = start(project, &create_api(), &format!("{step}:stop"));
    let pid = Pid::from_child(&child);
    let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
    status.stopped().then_some(child)
}

fn go_on(child: Child) -> (bool, String) {
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), stderr(&output))
}

#[test]
fn a_second_kbr_fails_while_the_first_is_running() {
    let (_, after) = outcomes(SHORT);
    each_step(|step| {
        let project = Project::grown();
        let Some(child) = stopped(&project, step) else {
            return false;
        };
        let tree = project.tree();
        let second = run(&project, &create_api(), "");
        assert!(!second.status.success());
        assert!(
            stderr(&second).contains("another kbr is running")
                && stderr(&second).contains("nothing was written")
        );
        assert_eq!(project.tree(), tree);
        let (success, text) = go_on(child);
        assert!(success, "{text}");
        assert_eq!(project.tree(), after);
        true
    });
}

#[test]
fn an_edit_between_resolve_and_commit_is_kept_and_reported() {
    let mut edits = 0;
    each_step(|step| {
        let project = Project::grown();
        let before = project.tree();
        let Some(child) = stopped(&project, step) else {
            return false;
        };
        // The next test covers later edits.
        let committing = project.root.join(".kbr/commit").exists() || project.tree() != before;
        if !committing && project.has_commit() {
            let mine = format!("{}// mine\r\n", project.read("src/main.rs"));
            project.write("src/main.rs", &mine);
            let (success, text) = go_on(child);
            assert!(!success, "step {step}: {text}");
            assert!(
                text.contains("`src/main.rs` changed while kbr was running")
                    || text.contains("another program changed `src/main.rs`"),
                "{text}"
            );
            assert!(
                text.contains("nothing was written") || text.contains("the project is unchanged"),
                "{text}"
            );
            assert_eq!(project.read("src/main.rs"), mine);
            fs::write(project.root.join("src/main.rs"), &before["src/main.rs"].2).unwrap();
            assert_eq!(project.tree(), before);
            assert!(!project.has_commit());
            edits += 1;
        } else {
            assert!(go_on(child).0);
        }
        true
    });
    assert!(edits > 10, "only {edits} edits");
}

#[test]
fn an_edit_after_a_kill_stops_the_next_command_and_both_versions_are_kept() {
    let (before, after) = outcomes(SHORT);
    let mut stops = 0;
    each_step(|step| {
        let project = Project::grown();
        let killed = reached(&stderr(&run(
            &project,
            &create_api(),
            &format!("{step}:kill"),
        )));
        if !project.root.join(".kbr/commit").exists() {
            return killed;
        }
        project.write("src/main.rs", "mine");
        for _ in 0..2 {
            let next = run(&project, &nothing(), "");
            let text = stderr(&next);
            assert!(
                !next.status.success()
                    && text.contains("another program changed `src/main.rs` in the meantime"),
                "step {step}: {text}"
            );
            assert!(
                text.contains("\nhelp: ") && text.contains("rm -r .kbr"),
                "{text}"
            );
            assert_eq!(project.read("src/main.rs"), "mine");
        }
        stops += 1;
        // Keep kbr's version, as the help explains.
        if let Some(kbrs) = theirs(&project, &after["src/main.rs"].2) {
            fs::rename(kbrs, project.root.join("src/main.rs")).unwrap();
            assert!(assert_ends(
                &project,
                &before,
                &after,
                &format!("kill at {step}")
            ));
        }
        killed
    });
    assert!(stops > 5, "only {stops} stops");
}

/// The staged file with this content.
fn theirs(project: &Project, content: &[u8]) -> Option<std::path::PathBuf> {
    let staged = fs::read_dir(project.root.join(".kbr/staged")).unwrap();
    staged
        .map(|it| it.unwrap().path())
        .find(|path| fs::read(path).unwrap() == content)
}

#[test]
fn a_read_only_command_reports_an_interrupted_commit_and_leaves_it() {
    let before = Project::grown().tree();
    let mut reports = 0;
    each_step(|step| {
        let project = Project::grown();
        let killed = reached(&stderr(&run(
            &project,
            &create_api(),
            &format!("{step}:kill"),
        )));
        let (tree, commit) = (project.tree(), project.has_commit());
        let look = run(&project, &Value::Null, "");
        assert!(look.status.success());
        assert_eq!(
            (project.tree(), project.has_commit()),
            (tree.clone(), commit)
        );
        let reported = stderr(&look).contains("a kbr command was interrupted here")
            && stderr(&look).contains("\n  `src/main.rs`");
        assert_eq!(
            reported,
            project.root.join(".kbr/commit").exists(),
            "step {step}: {}",
            stderr(&look)
        );
        assert!(
            reported || tree == before || tree.contains_key("src/controllers/captain.rs"),
            "step {step}"
        );
        reports += usize::from(reported);
        killed
    });
    assert!(reports > 5, "only {reports} reports");
}

#[test]
fn a_file_named_kbr_in_place_of_the_folder_is_reported() {
    let project = Project::grown();
    let before = project.tree();
    project.write(".kbr", "mine");
    let output = run(&project, &create_api(), "");
    assert!(
        !output.status.success()
            && stderr(&output).contains("`.kbr` is a file, so kbr leaves it alone"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        (project.tree(), project.read(".kbr")),
        (before, "mine".to_owned())
    );
}

#[test]
fn unknown_files_in_the_folder_are_left_alone() {
    let project = Project::grown();
    fs::create_dir(project.root.join(".kbr")).unwrap();
    project.write(".kbr/mine", "mine");
    let output = run(&project, &create_api(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        (project.tree(), project.read(".kbr/mine")),
        (outcomes(SHORT).1, "mine".to_owned())
    );
}

#[test]
fn an_unknown_commit_record_is_reported() {
    let project = Project::grown();
    let before = project.tree();
    fs::create_dir(project.root.join(".kbr")).unwrap();
    for record in [
        "mine",
        "format = 99\nfolders = []\nfile = []\n",
        "format = 2\nfolders = [\"../x\"]\nfile = []\n",
    ] {
        project.write(".kbr/commit", record);
        let output = run(&project, &create_api(), "");
        assert!(
            !output.status.success() && stderr(&output).contains("\nhelp: "),
            "{}",
            stderr(&output)
        );
        assert_eq!(
            (project.tree(), project.read(".kbr/commit")),
            (before.clone(), record.to_owned())
        );
    }
}
