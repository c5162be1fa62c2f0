//! Adds versions to a store and removes them: each at once, so that a failure leaves the store as it was.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::archive;
use super::assets::Store;
use super::installed::InstalledVersion;
use super::progress;

/// The folder in a store for downloads, and for what is not yet or no longer part of the store.
const WORK: &str = ".kbr-download";

/// Adds `version` from an archive, or replaces it; `from` names the archive in errors. The complete folder appears at once.
///
/// # Errors
/// The archive is wrong (see [`archive::unpack`]), or the store cannot be written; the store is then unchanged.
pub fn add(
    version: &InstalledVersion,
    work: &WorkFolder,
    archive: impl Read,
    from: &str,
) -> anyhow::Result<()> {
    let unpacked = work.path("unpacked");
    remove_folder(&unpacked)?;
    fs::create_dir(&unpacked)
        .with_context(|| format!("cannot write to `{}`", unpacked.display()))?;
    archive::unpack(archive, &version.platform.programs(), &unpacked)
        .with_context(|| format!("cannot unpack {from}"))
        .and_then(|()| replace(&version.folder, &unpacked, &work.path("replaced")))
}

/// Moves `new` to `folder`, and what was there to `old`, which is then removed.
fn replace(folder: &Path, new: &Path, old: &Path) -> anyhow::Result<()> {
    remove_folder(old)?;
    let exchange = || -> io::Result<()> {
        fs::create_dir_all(folder.parent().unwrap_or(folder))?;
        let replaces = folder.exists();
        if replaces {
            // setup-envtest makes it read-only, and a read-only folder cannot be moved.
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
            fs::rename(folder, old)?;
        }
        let moved = fs::rename(new, folder);
        if moved.is_err() && replaces {
            fs::rename(old, folder)?;
        }
        moved
    };
    exchange().with_context(|| format!("cannot write to `{}`", folder.display()))?;
    remove_folder(old)
}

/// Removes a version from the store.
///
/// # Errors
/// Part of it may be left.
pub fn remove(version: &InstalledVersion) -> anyhow::Result<()> {
    remove_folder(&version.folder)
}

/// Removes a folder, which may be read-only or missing.
fn remove_folder(folder: &Path) -> anyhow::Result<()> {
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

/// The folder for downloads. While it exists, no other kbr changes the store. Partial downloads in it are kept for later.
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
            let root = File::open(&store.root)?;
            if root.try_lock().is_err() {
                progress("waiting", "for another kbr that changes the store");
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
        // What cannot be removed now is removed by the next download.
        let _ = remove_folder(&self.path("unpacked"));
        // Fails if there are partial downloads.
        let _ = fs::remove_dir(&self.folder);
    }
}
