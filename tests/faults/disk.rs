//! Disks that are full or may not be written to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::project::{Project, command, create_api, init, spawn, stderr};
use crate::{SHORT, assert_ends, outcomes};

/// A user without rights; only root can become one, and root alone needs to.
const NOBODY: u32 = 65534;

/// Runs the plan of [`SHORT`] with no more rights than a user has.
fn run_as_user(project: &Project) -> Output {
    let mut kbr = command(&project.root, &create_api(), "");
    if rustix::process::getuid().is_root() {
        // Where the user can reach it. Not copied by this process: a child that another test forks meanwhile would hold it open for
        // writing, and what is open for writing cannot be executed.
        let copy = project.root.join("../kbr");
        let copied = Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_kbr"))
            .arg(&copy)
            .status();
        assert!(copied.unwrap().success());
        kbr = Command::new(copy);
        kbr.arg("faults-drive")
            .arg(&project.root)
            .uid(NOBODY)
            .gid(NOBODY);
        give_away(project.root.parent().unwrap().parent().unwrap());
    }
    spawn(kbr, &create_api()).wait_with_output().unwrap()
}

fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_symlink() {
                give_away(&path);
            }
        }
    }
}

fn check_read_only(folder: &str, error: &str) {
    let project = Project::grown();
    let before = project.tree();
    let folder = project.root.join(folder);
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    let output = run_as_user(&project);
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    let text = stderr(&output);
    assert!(!output.status.success() && text.contains(error), "{text}");
    assert!(
        text.contains("help: make the folder writable for you"),
        "{text}"
    );
    assert_eq!(project.tree(), before);
    assert!(!project.has_commit());
}

#[test]
fn a_read_only_project_is_as_before() {
    check_read_only("", "nothing was written");
}

#[test]
fn a_read_only_folder_in_the_project_takes_the_rest_back() {
    check_read_only("src", "the project is as it was");
    check_read_only("real", "the project is as it was");
}

#[test]
fn a_user_without_special_rights_can_commit() {
    let project = Project::grown();
    let output = run_as_user(&project);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(project.tree(), outcomes(SHORT).1);
}

/// A limit on the size of files, which needs no rights: each write that goes beyond it stops halfway.
#[test]
fn a_write_that_stops_halfway_leaves_the_project_as_before() {
    let project = Project::grown();
    fs::remove_file(project.root.join("PROJECT")).unwrap();
    fs::remove_file(project.root.join("config")).unwrap();
    let before = project.tree();
    let mut shell = Command::new("sh");
    // Blocks of 512 bytes; the signal would end kbr, and is what a disk does not send.
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" faults-drive \"$1\"",
    ]);
    shell.arg(env!("CARGO_BIN_EXE_kbr")).arg(&project.root);
    let output = spawn(shell, &init()).wait_with_output().unwrap();
    let text = stderr(&output);
    assert!(
        !output.status.success() && text.contains("File too large"),
        "{text}"
    );
    assert_eq!(project.tree(), before, "{text}");
    assert!(!project.has_commit());
}

/// A small file system of its own, in a mount namespace that ends with the shell. Each size gives up at another file.
///
/// Only root may mount one; for everybody else the injected errors and the limit above stand for it.
#[test]
fn a_full_disk_leaves_the_project_as_before() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output()
        .expect("`unshare`, of util-linux");
    assert!(
        tried.status.success(),
        "cannot mount a small disk: {}\nhelp: give this container the right to mount, or run the tests as another user than root",
        stderr(&tried)
    );
    let (mut failed, mut succeeded) = (0, 0);
    for pages in 2..40 {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"mount -t tmpfs -o size="$1" none "$2" && mkdir "$2/p" && cp -a "$3/." "$2/p" && "$4" faults-drive "$2/p"
            code=$?; cp -a "$2/p/." "$5"; exit $code"#;
        let (source, result) = (Project::grown(), Project::missing());
        fs::remove_file(source.root.join("PROJECT")).unwrap();
        fs::remove_file(source.root.join("config")).unwrap();
        let before = source.tree();
        fs::create_dir_all(&result.root).unwrap();
        let mut shell = Command::new("unshare");
        shell.args([
            "-m",
            "sh",
            "-c",
            script,
            "sh",
            &format!("{}k", 4 * (pages + 4)),
        ]);
        shell
            .arg(folder.path())
            .arg(&source.root)
            .arg(env!("CARGO_BIN_EXE_kbr"))
            .arg(&result.root);
        let output = spawn(shell, &init()).wait_with_output().unwrap();
        let text = stderr(&output);
        if output.status.success() {
            succeeded += 1;
            assert!(result.tree().len() > before.len() + 20);
        } else {
            failed += 1;
            assert!(
                text.contains("No space left on device")
                    && text.contains("help: make room on the disk"),
                "{text}"
            );
            assert_eq!(result.tree(), before, "{pages}: {text}");
        }
        assert!(!result.has_commit());
    }
    assert!(
        failed > 10 && succeeded > 10,
        "{failed} failed, {succeeded} succeeded"
    );
}

#[test]
fn an_error_that_is_taken_back_leaves_modes_and_links_as_they_were() {
    let (before, after) = outcomes(SHORT);
    let project = Project::grown();
    fs::create_dir(project.root.join("api")).unwrap();
    fs::set_permissions(project.root.join("api"), PermissionsExt::from_mode(0o555)).unwrap();
    assert_eq!(before["run.sh"].1, 0o750);
    assert_eq!(after["run.sh"].1, 0o750);
    assert_eq!(after["src/controllers/captain.rs"].1, 0o644);
    assert_eq!(after["config"].0, 'l');
    let output = run_as_user(&project);
    assert!(!output.status.success());
    fs::remove_dir(project.root.join("api")).unwrap();
    assert_eq!(project.tree(), before);
    assert!(!assert_ends(&project, &before, &after, "read-only folder"));
}
