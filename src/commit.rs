//! Changes -> disk, all or nothing. The only writer of project files.
//!
//! The way of a commit, with its files in the project's `.kbr` folder:
//!
//! 1. every result is written to `staged/<n>`, a copy of what it replaces to `before/<n>`;
//! 2. the targets are compared once more with what was resolved;
//! 3. a record of it all is renamed to `commit`: from here on the commit is carried to its end, by whoever comes next if need be;
//! 4. `staged/<n>` are renamed onto their targets, PROJECT last; a file to remove is renamed to its `staged/<n>`;
//! 5. the record is removed, then the folder.
//!
//! An error in step 4 turns the commit round: the record is renamed to `undo`, and `before/<n>` go back onto those that were replaced.

mod disk;
#[cfg(feature = "faults")]
pub mod faults;
mod lock;
mod record;
mod replace;

use std::path::{Path, PathBuf};

use crate::changes::Change;
use crate::diagnostic::{Diagnostic, Outcome, Problem};
use crate::output;
use crate::project::PROJECT;

pub use lock::{Lock, lock};

use record::Record;

/// The folder in a project's root that is there only while a commit is.
const FOLDER: &str = ".kbr";
/// The record of a commit on its way forward.
const COMMIT: &str = ".kbr/commit";
/// The record of a commit on its way back.
const UNDO: &str = ".kbr/undo";
/// A record that is being written.
const DRAFT: &str = ".kbr/draft";
const STAGED: &str = ".kbr/staged";
const BEFORE: &str = ".kbr/before";

/// Writes `changes`: all of them, or none.
///
/// # Errors
/// What failed, what to do, and what became of the project; only if taking back failed too does it say that a part is written.
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
        return Err(take_back(root, &record, failure));
    }
    disk::remove_file(&root.join(COMMIT)).map_err(|failure| {
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

/// Says what a commit that is not ended wants, for commands that only look; those that write end it in [`lock()`].
///
/// # Errors
/// The record cannot be read.
pub fn unfinished(root: &Path) -> anyhow::Result<Option<String>> {
    for (path, what) in [(UNDO, "takes back"), (COMMIT, "finishes")] {
        if let Some(record) = Record::load(root, path)? {
            let who = "a kbr command was interrupted here, or is at work now";
            return Ok(Some(format!(
                "{who}; the next one that writes {what} its changes of:{}",
                record.list()
            )));
        }
    }
    Ok(None)
}

/// Steps 1 to 3: whatever may fail for want of space or rights, before any file of the project is touched.
fn stage(root: &Path, changes: &[&Change]) -> Result<Record, Problem> {
    let record = Record::new(root, changes)?;
    for folder in [FOLDER, STAGED, BEFORE] {
        disk::create_folder(&root.join(folder))?;
    }
    for (at, (file, change)) in record.files.iter().zip(changes).enumerate() {
        if let Some(after) = change.result() {
            disk::write(&staged(root, at), after, file.mode)?;
        }
        if let Some(before) = &change.before {
            disk::write(&copy_before(root, at), before, file.mode)?;
        }
    }
    disk::write(&root.join(DRAFT), record.to_toml()?.as_bytes(), 0o644)?;
    record.check_unchanged(root)?;
    disk::rename(&root.join(DRAFT), &root.join(COMMIT))?;
    Ok(record)
}

/// After an error on the way forward: back to the state before.
fn take_back(root: &Path, record: &Record, failure: Problem) -> anyhow::Error {
    let back = disk::rename(&root.join(COMMIT), &root.join(UNDO))
        .and_then(|()| replace::back(root, record))
        .and_then(|()| disk::remove_file(&root.join(UNDO)));
    if let Err(second) = back {
        let (first, second) = (failure.text(), second.text());
        return Diagnostic::new(format_args!("{first}; then, while taking back what was written: {second}"))
            .outcome(Outcome::Unmentioned)
            .help("a part of the changes is written; once the causes are gone, the next kbr command that writes ends this")
            .into();
    }
    clear(root);
    failure.outcome(Outcome::Restored).into()
}

/// Brings an interrupted commit to its end, forward or back, and says so on stderr.
fn finish(root: &Path) -> anyhow::Result<()> {
    if !disk::is_folder(&root.join(FOLDER))? {
        return Ok(());
    }
    if let Some(record) = Record::load(root, UNDO)? {
        let result = replace::back(root, &record);
        end(root, UNDO, result, "take back")?;
        output::message(format_args!(
            "took back the changes of a kbr command that was interrupted here:{}",
            record.list()
        ));
    }
    if let Some(record) = Record::load(root, COMMIT)? {
        let result = replace::forward(root, &record);
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

/// Removes what is left of a commit without a record. If that fails, the next command does it: nothing depends on it.
fn clear(root: &Path) {
    for folder in [STAGED, BEFORE] {
        disk::remove_tree(&root.join(folder)).ok();
    }
    disk::remove_file(&root.join(DRAFT)).ok();
    disk::remove_folder(&root.join(FOLDER)).ok();
}

/// The result for file `at` of the record until it is in its place; of a file to remove, what was there until it was removed.
fn staged(root: &Path, at: usize) -> PathBuf {
    root.join(STAGED).join(at.to_string())
}

/// The copy of what file `at` of the record was.
fn copy_before(root: &Path, at: usize) -> PathBuf {
    root.join(BEFORE).join(at.to_string())
}
