//! Closed output, as after `| head -1`.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The writing end of a closed pipe.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn kbr(folder: &Path, command: &str) -> Command {
    let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
    kbr.args(command.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    kbr
}

fn code(status: std::io::Result<ExitStatus>) -> Option<i32> {
    status.unwrap().code()
}

#[test]
fn a_command_completes_even_if_its_output_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "init --domain example.com --project-name captains",
        "create api --group crew --version v1 --kind Captain --yes",
        "create webhook --group crew --version v1 --kind Captain --defaulting",
        "create webhook --group crew --version v1 --kind Captain --defaulting",
        "init --dry-run --force",
    ] {
        let silent = code(kbr(folder.path(), command).stderr(closed_pipe()).status());
        assert_eq!(silent, Some(0), "{command}");
    }
    let again = kbr(folder.path(), "init --dry-run")
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(again.stdout).unwrap(),
        "",
        "something was missing"
    );
    for file in ["src/webhooks/crew_v1_captain.rs", "PROJECT"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
    assert!(!folder.path().join(".kbr").exists());
}

#[test]
fn an_error_keeps_its_exit_code_even_if_the_output_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    for (command, expected) in [
        ("manifests", 1),
        ("frobnicate", 2),
        ("init --make", 2),
        ("create", 2),
    ] {
        let found = code(kbr(folder.path(), command).stderr(closed_pipe()).status());
        assert_eq!(found, Some(expected), "{command}");
    }
}

#[test]
fn output_can_be_read_in_part() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "--help",
        "version",
        "--version",
        "create api --help",
        "init --domain example.com --dry-run",
    ] {
        let found = code(kbr(folder.path(), command).stdout(closed_pipe()).status());
        assert_eq!(found, Some(0), "{command}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["version", "init --domain example.com --dry-run"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = kbr(folder.path(), command)
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(
            printed.ends_with(
                "error: cannot write to standard output: No space left on device (os error 28)\n"
            ),
            "{printed}"
        );
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
}
