//! How kbr calls git: nothing that a repository itself configures is run.
//!
//! A clone brings no configuration. An archive of a folder may bring a whole `.git`, whose configuration names programs and other
//! folders. Of the user's own configuration, only hooks and the file system monitor are off.

mod include;
mod repository;

use std::path::Path;
use std::process::Command;

pub use repository::check;

/// A call of git in `folder`, to which the caller adds arguments.
pub fn command(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).arg("--no-pager");
    for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null"] {
        git.args(["-c", setting]);
    }
    // `git status` would write the index, which no one has asked for.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    git
}
