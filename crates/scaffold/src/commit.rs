//! Changes -> disk, all or nothing. The only writer of project files.
//!
//! The steps of a commit, with its files in the project's `.kbr` folder:
//!
//! 1. every result is written to `staged/<n>`, a copy of what it replaces to `before/<n>`;
//! 2. the targets are compared once more with the resolved state;
//! 3. a record of all changes is renamed to `commit`: from here on the commit will be completed, if necessary by the next command;
//! 4. `staged/<n>` are renamed onto their targets; a file to remove is renamed to its `staged/<n>`; folders that became empty are
//!    removed; PROJECT comes last;
//! 5. the record is removed, then the folder.
//!
//! An error in step 4 reverses the commit: the record is renamed to `undo`, and `before/<n>` are restored onto their targets.

mod disk;
#[cfg(feature = "faults")]
mod faults;
mod folder;
mod lock;
mod record;
mod replace;
pub mod suspended;

use std::path::{Path, PathBuf};

use crate::changes::Change;
use crate::project::PROJECT;
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem};
use kbr_host::output;

pub use lock::{Lock, lock, lock_suspended};
pub use suspended::Suspended;

use record::Record;

/// The folder in a project's root that exists only during a commit.
const FOLDER: &str = ".kbr";
/// The record of a commit that moves forward.
const COMMIT: &str = ".kbr/commit";
/// The record of a commit that is being reversed.
const UNDO: &str = ".kbr/undo";
/// A record that is being written.
const DRAFT: &str = ".kbr/draft";
const STAGED: &str = ".kbr/staged";
const BEFORE: &str = ".kbr/before";
/// The files before an upgrade that is unfinished.
const UPGRADE: &str = ".kbr/upgrade";
/// The same until the upgrade is committed.
const UPGRADE_DRAFT: &str = ".kbr/upgrade-draft";

/// Writes `changes`: all of them, or none.
///
/// # Errors
/// The failure, what to do, and the state of the project. Some changes stay written only if the reversal fails, too.
pub fn commit(lock: &Lock, changes: &[Change]) -> anyhow::Result<()> {
    let root = lock.root();
    let mut changes: Vec<&Change> = changes.iter().filter(|change| change.writes()).collect();
    changes.sort_by_key(|change| change.path == PROJECT);
    if changes.is_empty() {
        return Ok(());
    }
    let record = stage(root, &changes).map_err(|failure| {
        clear(root);
        failure.outcome(Outcome::NothingWritten)
    })?;
    if let Err(failure) = replace::forward(root, &record) {
        return Err(revert(root, &record, failure));
    }
    let end = suspended::committed(root).and_then(|()| disk::remove_file(&root.join(COMMIT)));
    end.map_err(|failure| {
        Diagnostic::new(format_args!(
            "everything was written, but {}",
            failure.text()
        ))
        .outcome(Outcome::Unmentioned)
        .help(format_args!("remove the folder yourself: `rm -r {FOLDER}`"))
    })?;
    clear(root);
    Ok(())
}

/// Describes an unfinished commit, for commands that only read; commands that write finish it in [`lock()`].
///
/// # Errors
/// The record cannot be read, or is not kbr's own.
pub fn unfinished(root: &Path) -> anyhow::Result<Option<String>> {
    if !folder::check(root)? {
        return Ok(None);
    }
    for (path, what) in [(UNDO, "reverts"), (COMMIT, "finishes")] {
        if let Some(record) = Record::load(root, path)? {
            let cause = "a kbr command was interrupted here, or is still running";
            return Ok(Some(format!(
                "{cause}; the next kbr command that writes {what} its changes to:{}",
                record.list()
            )));
        }
    }
    Ok(None)
}

/// Steps 1 to 3: everything that may fail because of space or permissions happens before any file of the project is touched.
fn stage(root: &Path, changes: &[&Change]) -> Result<Record, Problem> {
    let record = Record::new(root, changes)?;
    folder::create(root)?;
    for folder in [STAGED, BEFORE] {
        disk::create_folder(&root.join(folder))?;
    }
    for (at, (file, change)) in record.files.iter().zip(changes).enumerate() {
        // An existing file keeps its mode.
        let write = match &change.before {
            Some(_) => disk::write,
            None => disk::write_by_umask,
        };
        if let Some(after) = change.result() {
            write(&staged(root, at), after, file.mode)?;
        }
        if let Some(before) = &change.before {
            write(&copy_before(root, at), before, file.mode)?;
        }
    }
    disk::write(&root.join(DRAFT), record.to_toml()?.as_bytes(), 0o644)?;
    record.check_unchanged(root)?;
    disk::rename(&root.join(DRAFT), &root.join(COMMIT))?;
    Ok(record)
}

/// Reverts the commit after an error.
fn revert(root: &Path, record: &Record, failure: Problem) -> anyhow::Error {
    let back = disk::rename(&root.join(COMMIT), &root.join(UNDO))
        .and_then(|()| replace::back(root, record))
        .and_then(|()| disk::remove_file(&root.join(UNDO)));
    if let Err(second) = back {
        let (first, second) = (failure.text(), second.text());
        return Diagnostic::new(format_args!("{first}; then reverting the changes failed: {second}"))
            .outcome(Outcome::Unmentioned)
            .help("some changes are written; fix both causes, and the next kbr command that writes will finish reverting them")
            .into();
    }
    clear(root);
    failure.outcome(Outcome::Restored).into()
}

/// Completes an interrupted commit, forward or back, and reports it on stderr.
fn finish(root: &Path) -> anyhow::Result<()> {
    if !folder::check(root)? {
        folder::remove(root);
        return Ok(());
    }
    if let Some(record) = Record::load(root, UNDO)? {
        let result = replace::back(root, &record);
        end(root, UNDO, result, "revert")?;
        output::message(format_args!(
            "reverted the changes of a kbr command that was interrupted here:{}",
            record.list()
        ));
    }
    if let Some(record) = Record::load(root, COMMIT)? {
        let result = replace::forward(root, &record).and_then(|()| suspended::committed(root));
        end(root, COMMIT, result, "finish")?;
        output::message(format_args!(
            "finished the changes of a kbr command that was interrupted here:{}",
            record.list()
        ));
    }
    clear(root);
    Ok(())
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
fn clear(root: &Path) {
    suspended::clear(root);
    for folder in [STAGED, BEFORE] {
        disk::remove_tree(&root.join(folder)).ok();
    }
    disk::remove_file(&root.join(DRAFT)).ok();
    folder::remove(root);
}

/// The result for file `at` of the record until it is in place; for a file to remove, its old content after the removal.
fn staged(root: &Path, at: usize) -> PathBuf {
    root.join(STAGED).join(at.to_string())
}

/// The copy of the old content of file `at` of the record.
fn copy_before(root: &Path, at: usize) -> PathBuf {
    root.join(BEFORE).join(at.to_string())
}

#[cfg(test)]
mod tests {
    mod fuzz;
}
