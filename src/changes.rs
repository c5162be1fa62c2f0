//! Plan + disk -> every change, or every conflict. Reads, never writes.

use std::path::Path;

use crate::plan::Op;

/// What happens to one file; each planned file has exactly one of these, and is reported with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The file is new.
    Create,
    /// Lines go into an existing file.
    Insert,
    /// The file is the user's by now, and stays as it is.
    Keep,
    /// The file is what it should be already.
    Same,
    /// The file is written over, because of `--force`.
    Force,
}

/// What to do with an owned file that exists and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// A conflict: this is the first time that the command runs.
    Refuse,
    /// It is the user's by now: the command has run before.
    Keep,
    /// Write over it.
    Force,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// What is reported.
    pub verb: Verb,
    /// `None` when the file is new.
    pub before: Option<Vec<u8>>,
    /// Equal to `before` for [`Verb::Keep`] and [`Verb::Same`].
    pub after: Vec<u8>,
}

/// Looks at the disk and says what `ops` change there, in order of path with PROJECT last.
///
/// # Errors
/// One error that lists every conflict, and what to type to resolve each. Nothing was written.
pub fn resolve(_root: &Path, _ops: &[Op], _existing: Existing) -> anyhow::Result<Vec<Change>> {
    todo!()
}
