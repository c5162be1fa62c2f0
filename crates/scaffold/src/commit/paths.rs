//! The names of the files and folders in `.kbr`.

use std::path::{Path, PathBuf};

/// The folder in a project's root that exists only during a commit.
pub const FOLDER: &str = ".kbr";
/// The record of a commit that moves forward.
pub const COMMIT: &str = ".kbr/commit";
/// The record of a commit that is being reversed.
pub const UNDO: &str = ".kbr/undo";
/// A record that is being written.
pub const DRAFT: &str = ".kbr/draft";
pub const STAGED: &str = ".kbr/staged";
pub const BEFORE: &str = ".kbr/before";
/// The files before an upgrade that is unfinished.
pub const UPGRADE: &str = ".kbr/upgrade";
/// The same until the upgrade is committed.
pub const UPGRADE_DRAFT: &str = ".kbr/upgrade-draft";

/// The result for file `at` of the record until it is in place; for a file to remove, its old content after the removal.
pub fn staged(root: &Path, at: usize) -> PathBuf {
    root.join(STAGED).join(at.to_string())
}

/// The copy of the old content of file `at` of the record.
pub fn copy_before(root: &Path, at: usize) -> PathBuf {
    root.join(BEFORE).join(at.to_string())
}
