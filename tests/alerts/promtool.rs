//! Runs promtool.

use std::{fs, process::Command};

use tempfile::TempDir;

/// Runs `promtool` with these arguments in a folder with these files, and fails with its output if it fails.
#[track_caller]
pub fn run(arguments: &[&str], files: &[(&str, &str)]) {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new("promtool");
    let output = command.args(arguments).current_dir(folder.path()).output();
    let output = output.expect("promtool, which `make promtool` installs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let success = output.status.success();
    assert!(success, "promtool {}:\n{text}", arguments.join(" "));
}
