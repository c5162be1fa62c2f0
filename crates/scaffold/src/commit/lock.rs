//! Ensures that only one kbr at a time changes a project.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::disk;
use crate::changes;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// The lock on a project, held while a command resolves and commits. Dropping it also removes a root that it created, if nothing
/// was written.
#[derive(Debug)]
pub struct Lock {
    root: PathBuf,
    /// Folders that had to be created, the outermost first. Dropping removes them before the lock is released.
    _created: Created,
    /// The open root folder, which holds the lock.
    _folder: File,
}

impl Lock {
    /// The project's root, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Folders that are removed on drop if they are empty.
#[derive(Debug, Default)]
struct Created(Vec<PathBuf>);

impl Drop for Created {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            disk::remove_folder(folder).ok();
        }
    }
}

/// Locks the project at `root`, which is created if it is missing.
///
/// # Errors
/// Another kbr holds the lock; `root` is not a folder or cannot be created.
pub fn acquire(root: &Path) -> anyhow::Result<Lock> {
    // A kbr that created the root and wrote nothing removes it again, so the opened folder may no longer exist.
    for _ in 0..10 {
        let created = create(root)?;
        let folder = match regular::folder(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            result => {
                result.with_context(|| format!("cannot open the folder `{}`", root.display()))?
            }
        };
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("another kbr is running in `{}`", root.display());
                let help = "wait until it ends, then run the command again";
                return Err(Diagnostic::new(text).help(help).into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error)
                    .with_context(|| format!("cannot lock the folder `{}`", root.display()));
            }
        }
        if same_folder(&folder, root)? {
            let real =
                changes::real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
            return Ok(Lock {
                root: real,
                _created: created,
                _folder: folder,
            });
        }
    }
    let text = format!(
        "other programs keep creating and removing `{}`",
        root.display()
    );
    Err(Diagnostic::new(text).help("run the command again").into())
}

fn create(root: &Path) -> anyhow::Result<Created> {
    let mut created = Created::default();
    let missing: Vec<&Path> = root
        .ancestors()
        .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
        .collect();
    for folder in missing.into_iter().rev() {
        disk::create_folder(folder).map_err(Diagnostic::from)?;
        created.0.push(folder.to_owned());
    }
    if !root.is_dir() {
        let text = format!("`{}` is not a folder", root.display());
        let help = "pass the folder of a project, or a new one";
        return Err(Diagnostic::new(text).help(help).into());
    }
    Ok(created)
}

fn same_folder(folder: &File, root: &Path) -> anyhow::Result<bool> {
    let open = folder.metadata()?;
    Ok(fs::metadata(root).is_ok_and(|now| (now.dev(), now.ino()) == (open.dev(), open.ino())))
}
