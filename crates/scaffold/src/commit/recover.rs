//! Completes a commit that was interrupted, and removes what remains of one.

use std::path::Path;

use kbr_host::diagnostic::{Outcome, Problem};
use kbr_host::lines::Lines;
use kbr_host::output;

use super::paths::{BEFORE, COMMIT, DRAFT, STAGED, UNDO};
use super::record::Record;
use super::{disk, folder, replace, suspended};

/// Completes an interrupted commit, forward or back, and reports it on stderr.
pub fn finish(root: &Path) -> anyhow::Result<()> {
    if !folder::check(root)? {
        folder::remove(root);
        return Ok(());
    }
    if let Some(record) = Record::load(root, UNDO)? {
        let result = replace::back(root, &record);
        end(root, UNDO, result, "revert")?;
        report("reverted", &record);
    }
    if let Some(record) = Record::load(root, COMMIT)? {
        let result = replace::forward(root, &record).and_then(|()| suspended::committed(root));
        end(root, COMMIT, result, "finish")?;
        report("finished", &record);
    }
    clear(root);
    Ok(())
}

fn report(done: &str, record: &Record) {
    let mut lines = Lines::default();
    lines.add(format_args!(
        "{done} the changes of a kbr command that was interrupted here:"
    ));
    lines.extend(record.shown().map(|path| format!("  {path}")));
    output::lines(&lines);
}

fn end(root: &Path, record: &str, result: Result<(), Problem>, verb: &str) -> anyhow::Result<()> {
    let result = result.and_then(|()| disk::remove_file(&root.join(record)));
    result.map_err(|failure| {
        let context =
            format!("cannot {verb} the changes of a kbr command that was interrupted here");
        failure
            .context(context)
            .outcome(Outcome::NothingElseWritten)
            .into()
    })
}

/// Removes the remains of a commit without a record. If that fails, the next command does it; nothing depends on it.
pub fn clear(root: &Path) {
    suspended::clear(root);
    for folder in [STAGED, BEFORE] {
        disk::remove_tree(&root.join(folder)).ok();
    }
    disk::remove_file(&root.join(DRAFT)).ok();
    folder::remove(root);
}
