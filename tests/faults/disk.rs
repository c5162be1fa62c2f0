//! Full and read-only disks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::project::{Project, command, create_api, init, spawn, stderr};
use crate::{SHORT, assert_ends, outcomes};

/// An unprivileged user, used if the tests run as root.
const UNPRIVILEGED: u32 = 65534;

/// Runs the plan of [`SHORT`] as an unprivileged user.
fn run_as_user(project: &Project) -> Output {
    let mut kbr = command(&project.root, &create_api(), "");
    if rustix::process::getuid().is_root() {
        // Copied to a folder that the user can access, but not by this process: a child that another test forks meanwhile would hold the
        // file open for writing, and such a file cannot be executed.
        let copy = project.root.join("../kbr");
        let copied = Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_kbr"))
            .arg(&copy)
            .status();
        assert!(copied.unwrap().success());
        kbr = Command::new(copy);
        kbr.arg("faults-drive")
            .arg(&project.root)
            .uid(UNPRIVILEGED)
            .gid(UNPRIVILEGED);
        give_away(project.root.parent().unwrap().parent().unwrap());
    }
    spawn(kbr, &create_api()).wait_with_output().unwrap()
}

fn give_away(path: &Path) {
    chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
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
    assert!(text.contains("help: make the folder writable"), "{text}");
    assert_eq!(project.tree(), before);
    assert!(!project.has_commit());
}

#[test]
fn a_read_only_project_is_unchanged() {
    check_read_only("", "nothing was written");
}

#[test]
fn a_read_only_folder_reverts_the_commit() {
    check_read_only("src", "the project is unchanged");
    check_read_only("real", "the project is unchanged");
}

#[test]
fn an_unprivileged_user_can_commit() {
    let project = Project::grown();
    let output = run_as_user(&project);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(project.tree(), outcomes(SHORT).1);
}

/// Sets a limit on the size of files, which needs no privileges: a write beyond it is partial.
#[test]
fn a_partial_write_leaves_the_project_unchanged() {
    let project = Project::grown();
    fs::remove_file(project.root.join("PROJECT")).unwrap();
    fs::remove_file(project.root.join("config")).unwrap();
    let before = project.tree();
    let mut shell = Command::new("sh");
    // In blocks of 512 bytes. The signal, which a full disk does not send, would end kbr.
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

/// Mounts a small file system in a mount namespace that ends with the shell. Each size is full at another file.
///
/// Only root can mount it; other users rely on the injected errors and the limit above.
#[test]
fn a_full_disk_leaves_the_project_unchanged() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let tried = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output()
        .expect("`unshare`, of util-linux");
    assert!(
        tried.status.success(),
        "cannot mount a small disk: {}\nhelp: allow this container to mount, or run the tests as a user other than root",
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
            &format!("{}k", 4 * (pages + 5)),
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
                text.contains("No space left on device") && text.contains("help: free disk space"),
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
fn a_reverted_commit_restores_modes_and_links() {
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
