//! Whether a file belongs to the user who runs kbr. The rules are those of git's `safe.directory`.

use std::env;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::diagnostic::Diagnostic;

/// The variable that lists folders whose owner does not matter, divided by `:`. `*` is every folder, `/src/*` every folder below one.
const SAFE: &str = "KBR_SAFE_DIRECTORY";

/// Checks that `path`, a part of the project at `root`, belongs to the user.
///
/// # Errors
/// It belongs to another user, and the user has not declared `root` safe.
pub fn check(root: &Path, path: &Path, found: &Metadata) -> anyhow::Result<()> {
    let sudo = env::var("SUDO_UID").ok();
    let sudo = sudo.and_then(|uid| uid.parse().ok());
    if is_owner(found.uid(), geteuid().as_raw(), sudo) {
        return Ok(());
    }
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    if env::var_os(SAFE).is_some_and(|safe| is_safe(&real, env::split_paths(&safe))) {
        return Ok(());
    }
    let text = format!(
        "`{}` belongs to another user (uid {})",
        path.display(),
        found.uid()
    );
    let help = format!("if you trust that user: `export {SAFE}={}`", real.display());
    Err(Diagnostic::new(text).help(help).into())
}

/// Whether a file that this kbr may have made belongs to the user who runs it.
pub fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// Whether a file of `owner` belongs to the user. root, under sudo, is also the user who called sudo.
fn is_owner(owner: u32, user: u32, sudo: Option<u32>) -> bool {
    owner == user || user == 0 && sudo == Some(owner)
}

/// Whether one of the `safe` folders is `root`, without links.
fn is_safe(root: &Path, mut safe: impl Iterator<Item = PathBuf>) -> bool {
    safe.any(|entry| {
        let below = entry.file_name().is_some_and(|name| name == "*");
        match entry.parent() {
            Some(folder) if below => folder.as_os_str().is_empty() || root.starts_with(folder),
            _ => fs::canonicalize(&entry).is_ok_and(|entry| entry == root),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_its_owner_and_to_root_under_sudo() {
        assert!(is_owner(1000, 1000, None));
        assert!(is_owner(0, 0, Some(1000)));
        assert!(is_owner(1000, 0, Some(1000)));
        assert!(!is_owner(1001, 0, Some(1000)));
        assert!(!is_owner(1000, 0, None));
        assert!(!is_owner(0, 1000, None));
        assert!(!is_owner(1001, 1000, Some(1001)));
    }

    #[test]
    fn a_safe_folder_is_listed_itself_or_by_a_pattern() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let is_listed = |list: &str| is_safe(&root, env::split_paths(list));
        let shown = root.display();
        for safe in [
            format!("{shown}"),
            format!("{shown}/"),
            format!("/no/such/folder:{shown}"),
            "*".to_owned(),
            format!("{}/*", root.parent().unwrap().display()),
        ] {
            assert!(is_listed(&safe), "{safe}");
        }
        for other in ["", "/", "/no/*", "*x", &format!("{shown}x/*")] {
            assert!(!is_listed(other), "{other}");
        }
    }
}
