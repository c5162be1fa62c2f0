//! How kbr calls git: it ends, and nothing that a repository itself configures is run.
//!
//! A clone brings no configuration. An archive of a folder may bring a whole `.git`, whose configuration names programs and other
//! folders, and whose files may be named pipes. Of the user's own configuration, only hooks and the file system monitor are off.

mod include;
mod limited;
mod repository;

use std::path::Path;
use std::process::Command;

pub use limited::run;
pub use repository::{Checked, check};

/// A call of git in `folder`, to which the caller adds arguments: [`run`] runs it.
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
