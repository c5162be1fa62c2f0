//! The folder for work in a store, which is locked meanwhile.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::assets::Store;
use super::progress;
use kbr_host::regular;

/// The folder in a store for what is not yet or no longer part of it.
const WORK: &str = ".kbr-work";

/// An unpacked archive, in the work folder.
pub const UNPACKED: &str = "unpacked";

/// A build, in the work folder.
pub const BUILD: &str = "build";

/// Removes a folder, which may be read-only or missing.
pub fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    let remove = || -> io::Result<()> {
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        fs::remove_dir_all(folder)
    };
    match remove() {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The folder for downloads and builds. While this exists, no other kbr changes the store. Partial downloads in it are kept for later.
pub struct WorkFolder {
    folder: PathBuf,
    /// Locked until it is closed.
    _root: File,
}

impl WorkFolder {
    /// Locks the store, and waits while another kbr changes it.
    pub fn lock(store: &Store) -> anyhow::Result<Self> {
        let folder = store.root.join(WORK);
        let lock = || -> io::Result<File> {
            fs::create_dir_all(&store.root)?;
            let root = regular::folder(&store.root)?;
            if root.try_lock().is_err() {
                progress("waiting", "for another kbr that is changing the store");
                root.lock()?;
            }
            fs::create_dir_all(&folder)?;
            Ok(root)
        };
        let root = lock().with_context(|| format!("cannot write to `{}`", store.root.display()))?;
        Ok(WorkFolder {
            folder,
            _root: root,
        })
    }

    /// A file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes partial downloads.
    pub fn clear(&self) -> anyhow::Result<()> {
        remove_folder(&self.folder)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        for name in [UNPACKED, BUILD] {
            let _ = remove_folder(&self.path(name));
        }
        // Fails if there are partial downloads.
        let _ = fs::remove_dir(&self.folder);
    }
}
