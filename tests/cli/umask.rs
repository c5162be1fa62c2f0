//! Modes of files in a project.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Runs `script`, which finds kbr as `$0`, in `folder`.
fn run(folder: &Path, script: &str) {
    let output = Command::new("sh")
        .args(["-ec", script, env!("CARGO_BIN_EXE_kbr")])
        .current_dir(folder)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
}

#[test]
fn a_new_file_has_the_mode_of_the_umask_and_an_existing_one_keeps_its_own() {
    for (umask, expected) in [("022", 0o644), ("002", 0o664), ("077", 0o600)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o7777;
        let init = "\"$0\" init --domain example.com --project-name captains";
        run(folder.path(), &format!("umask {umask}; {init}"));
        for name in ["PROJECT", "src/main.rs", "Cargo.lock"] {
            assert_eq!(mode(name), expected, "{name}, umask {umask}");
        }
        fs::set_permissions(path("src/main.rs"), Permissions::from_mode(0o640)).unwrap();
        let create = "\"$0\" create api --group crew --version v1 --kind Captain --yes";
        run(folder.path(), &format!("umask {umask}; {create}"));
        assert_eq!(mode("src/main.rs"), 0o640, "umask {umask}");
        assert_eq!(mode("src/controllers/captain.rs"), expected);
    }
}
