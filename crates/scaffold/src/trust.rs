//! Whether a project belongs to the user who runs kbr. Anyone may create `/tmp/PROJECT` or `/tmp/.kbr`, and would make every folder
//! below a part of their project.

use std::fs;
use std::path::Path;

use kbr_host::owner;

use crate::project::PROJECT;

/// Checks that the project at `root` belongs to the user: the folder, PROJECT and `.kbr`, as far as they exist.
///
/// # Errors
/// One of them belongs to another user, and the user has not declared the folder safe.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let owned = [root.to_owned(), root.join(PROJECT), root.join(".kbr")];
    for (at, path) in owned.iter().enumerate() {
        // The root may be reached through a link of the user's; the rest may not.
        let found = if at == 0 {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(path)
        };
        if let Ok(found) = found {
            owner::check(root, path, &found)?;
        }
    }
    Ok(())
}

/// The same for a command that creates projects: a folder of another user may become one, but what is a project already may not be used.
///
/// # Errors
/// As [`check`].
pub fn check_existing(root: &Path) -> anyhow::Result<()> {
    let is_there = |name| fs::symlink_metadata(root.join(name)).is_ok();
    if is_there(PROJECT) || is_there(".kbr") {
        check(root)?;
    }
    Ok(())
}
