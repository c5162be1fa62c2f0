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
mod paths;
mod record;
mod recover;
mod replace;
pub mod suspended;

use std::path::Path;

use crate::changes::Change;
use crate::project::PROJECT;
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem};

pub use lock::Lock;
pub use suspended::Suspended;

use kbr_host::lines::Lines;
use paths::{BEFORE, COMMIT, DRAFT, FOLDER, STAGED, UNDO, copy_before, staged};
use record::Record;

/// Writes `changes`: all of them, or none. Returns whether there was anything to write.
///
/// # Errors
/// The failure, what to do, and the state of the project. Some changes stay written only if the reversal fails, too.
pub fn commit(lock: &Lock, changes: &[Change]) -> anyhow::Result<bool> {
    let root = lock.root();
    let mut changes: Vec<&Change> = changes.iter().filter(|change| change.writes()).collect();
    changes.sort_by_key(|change| change.path == PROJECT);
    if changes.is_empty() {
        return Ok(false);
    }
    let record = stage(root, &changes).map_err(|failure| {
        recover::clear(root);
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
        .outcome(Outcome::Described)
        .help(format_args!("remove the folder yourself: `rm -r {FOLDER}`"))
    })?;
    recover::clear(root);
    Ok(true)
}

/// Locks the project at `root` as [`lock_suspended`] does, for every command but `kbr upgrade`.
///
/// # Errors
/// As [`lock_suspended`], or an upgrade is unfinished.
pub fn lock(root: &Path) -> anyhow::Result<Lock> {
    let lock = lock_suspended(root)?;
    suspended::check(lock.root())?;
    Ok(lock)
}

/// Locks the project at `root` (created if missing, for `init`), and completes an interrupted commit, which it reports on stderr.
///
/// # Errors
/// Another kbr holds the lock; `root` is not a folder or cannot be created; the interrupted commit cannot be completed.
pub fn lock_suspended(root: &Path) -> anyhow::Result<Lock> {
    let lock = lock::acquire(root)?;
    recover::finish(lock.root())?;
    Ok(lock)
}

/// Describes an unfinished commit, for commands that only read; commands that write finish it in [`lock()`].
///
/// # Errors
/// The record cannot be read, or is not kbr's own.
pub fn unfinished(root: &Path) -> anyhow::Result<Option<Problem>> {
    if !folder::check(root)? {
        return Ok(None);
    }
    for (path, what) in [(UNDO, "reverts"), (COMMIT, "finishes")] {
        if let Some(record) = Record::load(root, path)? {
            let cause = "a kbr command was interrupted here, or is still running";
            let text = format!("{cause}; the next kbr command that writes {what} its changes to:");
            let paths: Lines = record.shown().collect();
            return Ok(Some(Problem::new(text).below(paths)));
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
            .outcome(Outcome::Described)
            .help("some changes are written; fix both causes, then run any kbr command that writes: it finishes reverting them")
            .into();
    }
    recover::clear(root);
    failure.outcome(Outcome::Restored).into()
}

#[cfg(test)]
mod tests {
    mod fuzz;
}
