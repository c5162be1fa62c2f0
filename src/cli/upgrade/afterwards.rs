//! What follows an upgrade. Each step may fail: the files are upgraded, and the step's command is printed.

use std::path::Path;

use super::Args;
use super::report;
use crate::cargo;
use crate::cli::prompt;
use crate::manifests;
use crate::output;
use crate::upgrade::notes::Note;

/// Brings the lock file and the generated files up to date, and compiles the project.
pub fn run(root: &Path, args: &Args, notes: &[Note]) {
    if !args.no_check {
        steps(root, args);
    }
    report::notes(notes);
}

fn steps(root: &Path, args: &Args) {
    let lock = ["update", "--workspace", "--offline"];
    if !succeeded("cargo update --workspace", &cargo::output(root, &lock)) {
        return;
    }
    let generated = manifests::generate(root, manifests::Options::default())
        .and_then(|generated| manifests::write(root, &generated, false));
    match generated {
        Ok(written) => super::super::report::report(&written.changes),
        Err(error) => failed("kbr manifests", &error),
    }
    let check = ["check", "--workspace", "--all-targets", "--quiet"];
    if succeeded(
        "cargo check --workspace --all-targets",
        &cargo::output(root, &check),
    ) {
        return;
    }
    let question = "Let `cargo fix` apply what the compiler suggests";
    let is_wanted =
        args.yes || prompt::is_terminal() && matches!(prompt::yes_or_no(question, ""), Ok(true));
    if is_wanted {
        let fix = [
            "fix",
            "--workspace",
            "--all-targets",
            "--allow-dirty",
            "--allow-staged",
            "--broken-code",
            "--quiet",
        ];
        succeeded(
            &format!("cargo {}", fix.join(" ")),
            &cargo::output(root, &fix),
        );
    }
}

fn succeeded<T>(command: &str, result: &anyhow::Result<T>) -> bool {
    if let Err(error) = result {
        failed(command, error);
    }
    result.is_ok()
}

fn failed(command: &str, error: &anyhow::Error) {
    output::message(format_args!(
        "warning: {error:#}\n    help: the project is upgraded; repair this, then run `{command}`"
    ));
}
