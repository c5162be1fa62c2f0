//! All system calls that change a project. Tests can inject a fault at each of them.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use kbr_host::diagnostic::Problem;

#[cfg(feature = "faults")]
use super::faults::step;

/// Releases inject no faults.
#[cfg(not(feature = "faults"))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the same signature as with the feature `faults`"
)]
fn step() -> io::Result<()> {
    Ok(())
}

/// Why a commit stopped.
fn failure(action: &str, path: &Path, error: &io::Error) -> Problem {
    let help = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free disk space, then run the command again"
        }
        ErrorKind::PermissionDenied => "make the folder writable, then run the command again",
        ErrorKind::ReadOnlyFilesystem => {
            "make the file system writable, then run the command again"
        }
        _ => "remove the cause, then run the command again",
    };
    Problem::new(format_args!(
        "cannot {action} `{}`: {error}",
        path.display()
    ))
    .help(help)
}

/// One step; a missing file is an error.
fn run<T>(action: &str, path: &Path, call: impl FnOnce() -> io::Result<T>) -> Result<T, Problem> {
    step()
        .and_then(|()| call())
        .map_err(|error| failure(action, path, &error))
}

/// Creates a folder in an existing one; it may already exist.
pub fn create_folder(path: &Path) -> Result<(), Problem> {
    run("create the folder", path, || match fs::create_dir(path) {
        Err(error)
            if error.kind() == ErrorKind::AlreadyExists && fs::symlink_metadata(path)?.is_dir() =>
        {
            Ok(())
        }
        result => result,
    })
}

/// Writes a new file with exactly this mode.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Problem> {
    let file = create(path, bytes, 0o600)?;
    run("set the mode of", path, || {
        file.set_permissions(Permissions::from_mode(mode))
    })
}

/// Writes a new file with this mode, apart from the bits in the umask, as other programs do.
pub fn write_by_umask(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Problem> {
    create(path, bytes, mode).map(drop)
}

fn create(path: &Path, bytes: &[u8], mode: u32) -> Result<fs::File, Problem> {
    let open = || {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    };
    let mut file = run("create", path, open)?;
    run("write", path, || file.write_all(bytes))?;
    Ok(file)
}

/// Renames a file, replacing any file at `to`.
pub fn rename(from: &Path, to: &Path) -> Result<(), Problem> {
    run("write", to, || fs::rename(from, to))
}

/// Removes a file.
pub fn remove_file(path: &Path) -> Result<(), Problem> {
    run("remove", path, || fs::remove_file(path))
}

/// Removes a folder if it is empty.
pub fn remove_folder(path: &Path) -> Result<(), Problem> {
    run("remove the folder", path, || match fs::remove_dir(path) {
        Err(error)
            if [ErrorKind::DirectoryNotEmpty, ErrorKind::NotFound].contains(&error.kind()) =>
        {
            Ok(())
        }
        result => result,
    })
}

/// Removes a folder with the files in it.
pub fn remove_tree(path: &Path) -> Result<(), Problem> {
    let entries = run("read the folder", path, || fs::read_dir(path))?;
    for entry in entries.filter_map(Result::ok) {
        remove_file(&entry.path())?;
    }
    remove_folder(path)
}
