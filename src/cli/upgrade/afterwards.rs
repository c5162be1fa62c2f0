//! What follows an upgrade. Each step may fail: the files are upgraded, and the step's command is printed.

use std::path::Path;

use anyhow::anyhow;

use super::Args;
use super::messages;
use crate::cli::{prompt, report};
use kbr_host::output;
use kbr_programs::cargo;
use kbr_scaffold::library::Origin;
use kbr_scaffold::upgrade::notes::Note;

const CHECK: &str = "cargo check --workspace --all-targets";

/// Without `--broken-code`, cargo changes nothing in a crate that does not compile.
const FIX: [&str; 7] = [
    "fix",
    "--workspace",
    "--all-targets",
    "--allow-dirty",
    "--allow-staged",
    "--broken-code",
    "--quiet",
];

/// Brings the lock file and the generated files up to date, and compiles the project.
pub fn run(root: &Path, args: &Args, notes: &[Note]) {
    if !args.no_check {
        steps(root, args);
    }
    messages::notes(notes);
}

fn steps(root: &Path, args: &Args) {
    // What was vendored needs no network; a package of the registry has to come from there.
    let is_offline = args.library != Some(Origin::Registry);
    let lock = ["update", "--workspace", "--offline"];
    let lock = if is_offline { &lock[..] } else { &lock[..2] };
    if !succeeded("cargo update --workspace", &cargo::output(root, lock)) {
        return;
    }
    let generated = kbr_manifests::generate(root, kbr_manifests::Options::default())
        .and_then(|generated| kbr_manifests::write(root, &generated, false));
    match generated {
        Ok(written) => report::report(&written.changes),
        Err(error) => failed("kbr manifests", &error),
    }
    match check(root, args.yes) {
        Ok(true) => {}
        Ok(false) => failed(CHECK, &anyhow!("the project does not compile yet")),
        Err(error) => failed(CHECK, &error),
    }
}

/// Compiles the project, once more if `cargo fix` may change it. Returns whether it compiles.
fn check(root: &Path, is_yes: bool) -> anyhow::Result<bool> {
    let checked = cargo::check(root)?;
    if !checked.fixable || !may_fix(is_yes) {
        return Ok(checked.compiles);
    }
    succeeded(
        &format!("cargo {}", FIX.join(" ")),
        &cargo::output(root, &FIX),
    );
    Ok(cargo::check(root)?.compiles)
}

/// Whether `cargo fix` may apply what the compiler suggests.
fn may_fix(is_yes: bool) -> bool {
    let question = "Apply the compiler's safe suggestions with `cargo fix`";
    let may = is_yes
        || prompt::is_terminal() && matches!(prompt::yes_or_no(question, true, ""), Ok(true));
    if !may {
        output::message(format_args!(
            "note: to apply the compiler's safe suggestions, run `cargo {}`",
            FIX.join(" ")
        ));
    }
    may
}

fn succeeded<T>(command: &str, result: &anyhow::Result<T>) -> bool {
    if let Err(error) = result {
        failed(command, error);
    }
    result.is_ok()
}

fn failed(command: &str, error: &anyhow::Error) {
    output::failure("warning", error);
    output::message(format_args!(
        "    help: the upgrade itself is complete; fix this, then run `{command}`"
    ));
}
