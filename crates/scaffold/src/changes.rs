//! The difference of a command + the disk -> every change, or every conflict. Never writes.
//!
//! [`resolve`] adds files and lines, also those that no template has; [`removal`] removes them.

mod additions;
mod cargo_init;
mod conflict;
mod outcome;
mod outside;
mod place;
mod references;
pub mod removal;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::blueprint::WantedFile;
use crate::project::PROJECT;
use crate::scaffold::Scaffolds;
use kbr_host::diagnostic::{Diagnostic, Problem};

pub use additions::Records;
pub use outside::Outside;
pub use place::{Found, Locator, Place, is_legal, locate, real};

/// What happens to one file; each planned file has exactly one of these, and is reported with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The file is new.
    Create,
    /// Lines go into an existing file.
    Insert,
    /// The file belongs to the user and is not changed.
    Keep,
    /// The file is up to date.
    Same,
    /// The file is overwritten because of `--force`.
    Force,
    /// A file that belongs to kbr is updated: it is generated, or `cargo init` created it.
    Update,
    /// Changes of a newer release go into a file that the user edited.
    Merge,
    /// The same, but both changed the same lines: the file has conflict markers.
    Conflict,
    /// The file is removed: a generated file without a source, or a file whose table goes.
    Remove,
    /// Lines of an existing file are removed, or change their order because of that.
    RemoveLines,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the project's root, with `/`, as planned: links in it are not followed.
    pub path: String,
    /// The reported verb.
    pub verb: Verb,
    /// `None` if the file is new.
    pub before: Option<Vec<u8>>,
    /// Equal to `before` for [`Verb::Keep`] and [`Verb::Same`]; empty for [`Verb::Remove`].
    pub after: Vec<u8>,
}

impl Change {
    /// Whether the commit has to write or remove this file.
    pub fn writes(&self) -> bool {
        self.before.as_deref() != self.result()
    }

    /// The file at `path` as it is.
    fn none(path: &str, before: Option<Vec<u8>>) -> Self {
        Change {
            path: path.to_owned(),
            verb: Verb::Same,
            after: before.clone().unwrap_or_default(),
            before,
        }
    }

    /// The content afterwards; `None` if the file is removed.
    pub fn result(&self) -> Option<&[u8]> {
        (self.verb != Verb::Remove).then_some(&self.after)
    }
}

/// The content of the project's file at `path`; `None` if it does not exist.
///
/// # Errors
/// As [`Locator::locate`]; also if it is not a file.
pub fn read(locator: &Locator, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
    try_read(locator, path).map_err(|problems| Diagnostic::conflicts(problems).into())
}

/// The same, for a caller that can go on without the file.
///
/// # Errors
/// As [`read`].
pub fn try_read(locator: &Locator, path: &str) -> Result<Option<Vec<u8>>, Vec<Problem>> {
    place::read(locator, path).map(|(_, content)| content)
}

/// Compares what a command wants with the disk; returns the changes sorted by path, PROJECT last. `root` may be missing. `scaffolds` tell
/// where a missing marker belongs, and `outside` are edits by the path of the file.
///
/// # Errors
/// One error that lists every conflict and how to resolve it. Nothing was written.
pub fn resolve(
    root: &Path,
    wanted: &[WantedFile],
    outside: &[(String, Outside)],
    records: &Records,
    scaffolds: &Scaffolds,
) -> anyhow::Result<Vec<Change>> {
    let root = real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let mut files: BTreeMap<&str, Option<&WantedFile>> = BTreeMap::new();
    files.extend(outside.iter().map(|(path, _)| (path.as_str(), None)));
    files.extend(wanted.iter().map(|wanted| (wanted.path, Some(wanted))));
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    let mut places = BTreeMap::new();
    let locator = Locator::new(&root);
    let mut add =
        |path: &str, outcome: &dyn Fn(Option<Vec<u8>>) -> Result<Change, Vec<Problem>>| {
            let change = place::read(&locator, path).and_then(|(place, before)| {
                if let Some(other) = places.insert(place.path, path.to_owned()) {
                    return Err(vec![conflict::one_file(path, &other)]);
                }
                outcome(before)
            });
            match change {
                Ok(change) => changes.push(change),
                Err(more) => conflicts.extend(more),
            }
        };
    for (path, wanted) in &files {
        let edits = || outside.iter().filter(|(file, _)| file == path);
        add(path, &|before| {
            let change = match wanted {
                Some(wanted) => outcome::change(wanted, before, scaffolds)?,
                None => Change::none(path, before),
            };
            match edits().next() {
                Some(_) => outside::edited(change, edits().map(|(_, edit)| edit)),
                None => Ok(change),
            }
        });
    }
    if !records.is_empty() {
        add(PROJECT, &|before| additions::change(records, before));
    }
    if !conflicts.is_empty() {
        return Err(Diagnostic::conflicts(conflicts).into());
    }
    // A file that no template has is only mentioned if it changes.
    changes.retain(|it| it.writes() || !matches!(files.get(&*it.path), Some(None)));
    Ok(changes)
}

#[cfg(test)]
mod tests;
