//! Replaces the files of a commit, or restores them. Both can be repeated from any point at which they were interrupted.

use std::path::Path;

use super::disk;
use super::paths::{FOLDER, copy_before, staged};
use super::record::{FileRecord, Record};
use crate::changes::{Found, Locator, locate};
use crate::project::PROJECT;
use kbr_host::diagnostic::Problem;

/// A file of a record, and its index there.
type Indexed<'a> = (usize, &'a FileRecord);

/// Brings every file to its new state: replaces files in their old state, and skips those already in the new one.
///
/// # Errors
/// A file in any other state stops the commit, and both versions are kept.
pub fn forward(root: &Path, record: &Record) -> Result<(), Problem> {
    for folder in &record.folders {
        let place = locate(root, folder)?;
        if place.found != Found::Folder {
            disk::create_folder(&place.path)?;
        }
    }
    let locator = Locator::new(root);
    let (project, others) = project_and_others(record);
    for (at, file) in others {
        replace(root, &locator, at, file)?;
    }
    for folder in record.emptied.iter().rev() {
        // A link, and the folder behind it, is the user's.
        let place = locate(root, folder)?;
        if place.found == Found::Folder && place.path == root.join(folder) {
            disk::remove_folder(&place.path)?;
        }
    }
    for (at, file) in project {
        replace(root, &locator, at, file)?;
    }
    Ok(())
}

/// PROJECT, which changes last and is restored first, and all other files, each with its index.
fn project_and_others(record: &Record) -> (Vec<Indexed<'_>>, Vec<Indexed<'_>>) {
    let files = record.files.iter().enumerate();
    files.partition(|(_, file)| file.path == PROJECT)
}

fn replace(root: &Path, locator: &Locator, at: usize, file: &FileRecord) -> Result<(), Problem> {
    let (now, path) = file.now(locator)?;
    if now == file.after {
        return Ok(());
    }
    if now != file.before {
        return Err(changed(root, at, file));
    }
    match file.after {
        Some(_) => disk::rename(&staged(root, at), &path),
        None => disk::rename(&path, &staged(root, at)),
    }
}

/// Restores every file and folder to its state before the commit, and removes the folders that it created. A file whose result is
/// still staged was never replaced, and a file to remove that is not staged was never removed: the commit never touched such files.
///
/// # Errors
/// A replaced file was changed by another program.
pub fn back(root: &Path, record: &Record) -> Result<(), Problem> {
    let (project, others) = project_and_others(record);
    for (at, file) in project {
        restore(root, at, file)?;
    }
    for folder in &record.emptied {
        disk::create_folder(&locate(root, folder)?.path)?;
    }
    for (at, file) in others.into_iter().rev() {
        restore(root, at, file)?;
    }
    for folder in record.folders.iter().rev() {
        disk::remove_folder(&locate(root, folder)?.path)?;
    }
    Ok(())
}

fn restore(root: &Path, at: usize, file: &FileRecord) -> Result<(), Problem> {
    if staged(root, at).exists() == file.after.is_some() {
        return Ok(());
    }
    let (now, path) = file.now(&Locator::new(root))?;
    if now == file.before {
        return Ok(());
    }
    if now != file.after {
        return Err(changed(root, at, file));
    }
    match file.before {
        Some(_) => disk::rename(&copy_before(root, at), &path),
        None => disk::remove_file(&path),
    }
}

fn changed(root: &Path, at: usize, file: &FileRecord) -> Problem {
    let path = &file.path;
    let staged = staged(root, at);
    let keep = format!(
        "to keep the current files, run `rm -r {FOLDER}` and repeat the interrupted command"
    );
    let help = if file.after.is_some() && staged.exists() {
        let staged = staged.strip_prefix(root).unwrap_or(&staged).display();
        format!("to take kbr's version, run `mv {staged} {path}` and the command again; {keep}")
    } else {
        keep
    };
    Problem::new(format!("another program changed `{path}` in the meantime")).help(help)
}
