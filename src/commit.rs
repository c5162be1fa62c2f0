//! Changes -> disk, all or nothing. The only writer of project files.

use std::path::Path;

use crate::changes::Change;

/// The lock on a project, held while a command resolves and commits.
#[derive(Debug)]
pub struct Lock(());

/// Locks the project at `root` (created if missing, for `init`), and finishes a commit that was interrupted, which it says on stderr.
pub fn lock(_root: &Path) -> anyhow::Result<Lock> {
    todo!()
}

/// Writes `changes`: all of them, or none.
pub fn commit(_lock: &Lock, _root: &Path, _changes: &[Change]) -> anyhow::Result<()> {
    todo!()
}
