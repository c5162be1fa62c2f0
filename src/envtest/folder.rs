//! The temporary folder of one control plane, and abandoned ones.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::progress;
use crate::output;

const PREFIX: &str = "kbr-envtest-";

/// A lock on this file means that the folder is in use; the kernel releases it even if the holders are killed.
const LOCK: &str = "supervisor.log";

/// A folder, mode 0700, that is removed when dropped.
#[derive(Debug)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    lock: File,
}

impl Folder {
    /// Creates a new folder.
    pub fn create() -> anyhow::Result<Self> {
        let create = || -> io::Result<Self> {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
            // Lock the file before it gets its name: a folder with an unlocked file of this name is never in use.
            let unnamed = folder.path().join("new");
            let lock = File::create(&unnamed)?;
            lock.lock()?;
            fs::rename(&unnamed, folder.path().join(LOCK))?;
            let path = std::path::absolute(folder.keep())?;
            Ok(Self { path, lock })
        };
        create().with_context(|| format!("cannot make a folder in `{}`", env::temp_dir().display()))
    }

    /// A second handle of the lock, used as the supervisor's stderr: the lock is held as long as kbr or the supervisor is alive.
    pub fn lock(&self) -> io::Result<File> {
        self.lock.try_clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes `folder` with its content, if it still exists.
pub fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        output::message(format_args!(
            "warning: cannot remove `{}`: {error}",
            folder.display()
        ));
    }
}

/// Removes the folders whose kbr and supervisor were both killed with SIGKILL.
pub fn remove_stale() {
    let Ok(entries) = fs::read_dir(env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let folder = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !ours || !is_abandoned(&folder) {
            continue;
        }
        // On Linux the servers ended with their supervisor (see `exec`). Elsewhere they may still run. A process id
        // does not prove which run they belong to, so the user has to check.
        if cfg!(not(target_os = "linux")) {
            let servers = fs::read_to_string(folder.join("pids")).unwrap_or_default();
            let folder = folder.display();
            output::message(format_args!(
                "warning: `{folder}` remains from a killed run with these servers:\n{servers}"
            ));
            continue;
        }
        progress(
            "removing",
            &format!("{}, which remained from a killed run", folder.display()),
        );
        remove(&folder);
    }
}

fn is_abandoned(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_abandoned_when_no_process_holds_its_lock() {
        let Folder { path, lock } = &Folder::create().unwrap();
        assert!(!is_abandoned(path));
        lock.unlock().unwrap();
        assert!(is_abandoned(path));
    }

    #[test]
    fn a_second_handle_keeps_the_lock() {
        let folder = Folder::create().unwrap();
        let share = folder.lock().unwrap();
        // As if kbr had been killed: its file is closed, but the folder still exists.
        let moved = folder.path.with_extension("moved");
        fs::rename(&folder.path, &moved).unwrap();
        drop(folder);
        assert!(!is_abandoned(&moved));
        drop(share);
        assert!(is_abandoned(&moved));
        remove(&moved);
    }

    #[test]
    fn a_dropped_folder_is_removed() {
        let folder = Folder::create().unwrap();
        let path = folder.path.clone();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_without_the_lock_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_abandoned(folder.path()));
    }
}
