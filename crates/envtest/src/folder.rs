//! The temporary folder of one control plane, and abandoned ones.

use std::env;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::OFlags;

use super::Progress;
use kbr_host::diagnostic::Problem;
use kbr_host::output;
use kbr_host::owner;
use kbr_host::regular;

const PREFIX: &str = "kbr-envtest-";

/// A lock on this file means that the folder is in use; the kernel releases it even if the holders are killed.
const LOCK: &str = "supervisor.log";

/// Whoever can write into the folder can replace the kubeconfig by one that runs a program, and stop the servers.
const PRIVATE: u32 = 0o700;

/// A locked folder, mode 0700 whatever the umask, that is removed when dropped unless it is to be kept.
#[derive(Debug)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    lock: File,
    kept: bool,
}

impl Folder {
    /// Creates a new folder.
    pub fn create() -> anyhow::Result<Self> {
        let create = || -> io::Result<Self> {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(fs::Permissions::from_mode(PRIVATE))
                .tempdir()?;
            // Lock the file before it gets its name: a folder with an unlocked file of this name is never in use.
            let unnamed = folder.path().join("new");
            let lock = private().create_new(true).open(&unnamed)?;
            lock.lock()?;
            fs::rename(&unnamed, folder.path().join(LOCK))?;
            let path = std::path::absolute(folder.keep())?;
            let kept = false;
            Ok(Self { path, lock, kept })
        };
        create()
            .with_context(|| format!("cannot create a folder in `{}`", env::temp_dir().display()))
    }

    /// Opens the folder at `path`, created if it is missing; `None` if it is in use.
    pub fn open(path: &Path) -> anyhow::Result<Option<Self>> {
        let open = || -> io::Result<Option<File>> {
            loop {
                make_private(path)?;
                let mut lock = private();
                // A named pipe would wait for a reader.
                lock.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
                let open = lock.create(true).open(path.join(LOCK));
                let lock = match open {
                    // It is being removed.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    lock => lock?,
                };
                match lock.try_lock() {
                    Err(TryLockError::WouldBlock) => return Ok(None),
                    Err(TryLockError::Error(error)) => return Err(error),
                    Ok(()) => {}
                }
                // Otherwise it was removed before it was locked.
                let there = fs::metadata(path.join(LOCK)).map(|found| found.ino());
                if there.is_ok_and(|ino| lock.metadata().is_ok_and(|found| found.ino() == ino)) {
                    return Ok(Some(lock));
                }
            }
        };
        let lock = open().with_context(|| format!("cannot open `{}`", path.display()))?;
        let path = path.to_owned();
        Ok(lock.map(|lock| Self {
            path,
            lock,
            kept: false,
        }))
    }

    /// Removes everything in it but the lock.
    pub fn empty(&self) -> anyhow::Result<()> {
        let empty = || -> io::Result<()> {
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else if entry.file_name() != LOCK {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        empty().with_context(|| format!("cannot empty `{}`", self.path.display()))
    }

    /// From now on, the folder is not removed when this is dropped.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Whether the folder stays when this is dropped.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// Keeps the folder.
    pub fn leave(mut self) {
        self.keep();
    }

    /// A second handle of the lock, used as the supervisor's stderr: the lock is held as long as kbr or the supervisor is alive.
    pub fn lock(&self) -> io::Result<File> {
        self.lock.try_clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            remove(&self.path);
        }
    }
}

/// Makes a folder, and those that contain it, accessible to the user only. Those that exist already keep their mode, except `path`.
///
/// # Errors
/// It cannot be created, or is another user's.
pub fn make_private(path: &Path) -> io::Result<()> {
    let mut create = DirBuilder::new();
    create.recursive(true).mode(PRIVATE).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE))
}

/// Writes a file that only the user can read, whatever it was before.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().create_new(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

/// How to open a file that is created with mode 0600.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).mode(0o600);
    options
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
pub fn remove_stale(progress: Progress) {
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
            let servers = regular::text(&folder.join("pids")).unwrap_or_default();
            let folder = folder.display();
            let text = format!("a killed run left `{folder}` and these servers:");
            output::problem("warning", &Problem::new(text).below(servers));
            continue;
        }
        progress.report(
            "removing",
            &format!("{}, left by a killed run", folder.display()),
        );
        remove(&folder);
    }
}

/// Anyone may make a folder of such a name in `/tmp`, with a named pipe for the lock.
fn is_abandoned(folder: &Path) -> bool {
    let is_own = |found: &Metadata| found.is_dir() && owner::is_own(found);
    fs::symlink_metadata(folder).is_ok_and(|found| is_own(&found))
        && regular::open(&folder.join(LOCK)).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_folder_is_abandoned_when_no_process_holds_its_lock() {
        let Folder { path, lock, .. } = &Folder::create().unwrap();
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
    fn a_pipe_for_a_lock_is_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(LOCK);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(!is_abandoned(folder.path()));
        assert!(Folder::open(folder.path()).is_err());
    }

    #[test]
    fn a_folder_that_is_reached_through_a_link_is_left_alone() {
        let (folder, place) = (Folder::create().unwrap(), tempfile::tempdir().unwrap());
        folder.lock.unlock().unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&folder.path, &link).unwrap();
        assert!(is_abandoned(&folder.path) && !is_abandoned(&link));
    }

    #[test]
    fn a_folder_is_private_even_if_it_was_not() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("clusters/crew");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let folder = Folder::open(&path).unwrap().unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join(LOCK)), 0o600);
        folder.leave();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let _folder = Folder::open(&path).unwrap().unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_file_is_private_even_if_it_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        fs::write(&path, "longer than the next").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        write(&path, "text").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_folder_without_the_lock_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_abandoned(folder.path()));
    }
}
