//! The folder `.kbr`: proves that it is what kbr made, here and for this user, before anything in it is opened, followed or removed.
//!
//! A project may come from a stranger, with a `.kbr` of theirs. kbr's own has a mark, an empty folder whose name contains the inode
//! number of `.kbr` and the time of its creation: git carries no empty folder, and an archive or a copy has other numbers. So what a
//! clone, an archive or a copy contains is never taken for the work of an interrupted command.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::Context as _;

use super::disk;
use super::paths::{BEFORE, COMMIT, DRAFT, FOLDER, STAGED, UNDO, UPGRADE, UPGRADE_DRAFT};
use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::owner;

/// The files and folders that kbr acts on. It ignores anything else in `.kbr`.
const FILES: [&str; 3] = [COMMIT, UNDO, DRAFT];
const FOLDERS: [&str; 4] = [STAGED, BEFORE, UPGRADE, UPGRADE_DRAFT];

/// The start of the name of the mark.
const MARK: &str = "made-";

/// The most files that kbr puts into one folder, with room to spare.
const MOST: usize = 100_000;

/// Whether an earlier command left something in `.kbr`.
///
/// # Errors
/// `.kbr` or a part of it was not made by kbr, here and for this user; nothing was read or removed.
pub fn check(root: &Path) -> anyhow::Result<bool> {
    let Some(folder) = find(root, FOLDER)? else {
        return Ok(false);
    };
    if !folder.is_dir() {
        return Err(not_ours(FOLDER, what(&folder)));
    }
    owner::check(root, &root.join(FOLDER), &folder)?;
    let mut left = None;
    for path in FILES {
        if let Some(found) = find(root, path)? {
            check_file(path, &found)?;
            left = Some(path);
        }
    }
    for path in FOLDERS {
        if let Some(found) = find(root, path)? {
            check_folder(root, path, &found)?;
            left = Some(path);
        }
    }
    let Some(left) = left else {
        return Ok(false);
    };
    let mark = format!("{FOLDER}/{}", mark(&folder));
    if find(root, &mark)?.is_none_or(|mark| !mark.is_dir()) {
        return Err(not_ours(left, "was not written by this kbr in this folder"));
    }
    Ok(true)
}

/// Creates `.kbr` with its mark, for a root that [`check`] has accepted.
pub fn create(root: &Path) -> Result<(), Problem> {
    let folder = root.join(FOLDER);
    disk::create_folder(&folder)?;
    let found = fs::symlink_metadata(&folder).map_err(|error| {
        Problem::new(format_args!("cannot read `{}`: {error}", folder.display()))
            .help("run the command again")
    })?;
    disk::create_folder(&folder.join(mark(&found)))
}

/// Removes the mark once it vouches for nothing, and then the folder if it is empty. If that fails, the next command does it; nothing
/// depends on it.
pub fn remove(root: &Path) {
    let is_there = |path: &&str| fs::symlink_metadata(root.join(path)).is_ok();
    let folder = root.join(FOLDER);
    let is_real = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    if !is_real || FILES.iter().chain(&FOLDERS).any(is_there) {
        return;
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(MARK) {
            disk::remove_folder(&entry.path()).ok();
        }
    }
    disk::remove_folder(&folder).ok();
}

/// What `path` is, without following a link at its end; `None` if it does not exist.
fn find(root: &Path, path: &str) -> anyhow::Result<Option<Metadata>> {
    match fs::symlink_metadata(root.join(path)) {
        Ok(found) => Ok(Some(found)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read `{path}`")),
    }
}

fn check_file(path: &str, found: &Metadata) -> anyhow::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    Err(not_ours(path, what(found)))
}

/// Checks that the folder has only files.
fn check_folder(root: &Path, path: &str, found: &Metadata) -> anyhow::Result<()> {
    if !found.is_dir() {
        return Err(not_ours(path, what(found)));
    }
    let shown = || format!("cannot list `{path}`");
    for (count, entry) in fs::read_dir(root.join(path))
        .with_context(shown)?
        .enumerate()
    {
        if count == MOST {
            return Err(not_ours(path, "has more files than kbr writes"));
        }
        let entry = entry.with_context(shown)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        check_file(
            &format!("{path}/{name}"),
            &entry.metadata().with_context(shown)?,
        )?;
    }
    Ok(())
}

/// The name of the mark in this folder.
fn mark(folder: &Metadata) -> String {
    // Where the file system does not record it, the inode number has to do.
    let created = folder.created().ok();
    let created = created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let created = created.map_or(0, |time| time.as_nanos());
    format!("{MARK}{:x}-{created:x}", folder.ino())
}

fn what(found: &Metadata) -> &'static str {
    if found.is_symlink() {
        "is a link"
    } else if found.is_dir() {
        "is a folder"
    } else if found.is_file() {
        "is a file"
    } else {
        "is neither a file nor a folder"
    }
}

fn not_ours(path: &str, what: &str) -> anyhow::Error {
    Diagnostic::new(format_args!("`{path}` {what}, so kbr leaves it alone"))
        .help(format_args!(
            "it came with a copy of the project, or from another kbr: to remove it and keep the project unchanged, run `rm -r {FOLDER}`"
        ))
        .into()
}

#[cfg(test)]
mod tests;
