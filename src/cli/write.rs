//! What every command that writes does with its plan.

use std::path::Path;

use anyhow::Context as _;

use super::{WriteArgs, report};
use crate::changes::{self, Change, Existing};
use crate::commit;
use crate::plan::Op;

/// What a command wants.
#[derive(Debug)]
pub struct Plan {
    /// Of which files.
    pub ops: Vec<Op>,
    /// What becomes of files that are there and differ.
    pub existing: Existing,
}

/// Finishes a commit that was interrupted, so that what is read next is the whole project; a dry run only says that there is one.
///
/// # Errors
/// Another kbr is at work, or the commit cannot be finished.
pub fn settle(root: &Path, args: WriteArgs) -> anyhow::Result<()> {
    if !args.dry_run {
        commit::lock(root)?;
    } else if let Some(unfinished) = commit::unfinished(root)? {
        eprintln!("note: {unfinished}");
    }
    Ok(())
}

/// Makes the plan while nobody else can change the project, and carries it out; with `--dry-run` it only says what it would do.
/// Returns whether anything was written.
///
/// # Errors
/// Whatever stops the command; then nothing was written.
pub fn carry_out(
    root: &Path,
    args: WriteArgs,
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<bool> {
    if args.dry_run {
        let plan = plan()?;
        let changes = changes::resolve(root, &plan.ops, plan.existing)?;
        report::dry_run(&changes).context("cannot say what would be written")?;
        return Ok(false);
    }
    let lock = commit::lock(root)?;
    let plan = plan()?;
    let changes = changes::resolve(root, &plan.ops, plan.existing)?;
    commit::commit(&lock, &changes)?;
    report::report(&changes);
    let written = changes.iter().any(Change::writes);
    if !written {
        eprintln!("nothing to do: everything is there already");
    }
    Ok(written)
}
