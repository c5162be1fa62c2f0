//! Where a path of a project lies on disk. Links are followed, but never out of the project.

use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use super::conflict;
use crate::diagnostic::Problem;
use crate::project::PROJECT;

/// What exists at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    File,
    Folder,
}

/// Where a path leads, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// No part of it is a link, as far as it exists.
    pub path: PathBuf,
    pub found: Found,
}

/// `root` without a link in it, as [`locate`] wants it; one that is missing stays as it is.
///
/// # Errors
/// A folder on the way cannot be read.
pub fn real(root: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(root.to_owned()),
        result => result,
    }
}

/// Finds `path`, which is relative to the project at `root` and uses `/`. `root` must be [`real`] already, because resolving it for each
/// path would take more time than everything else.
///
/// # Errors
/// The path or a link leads out of the project, or a link leads nowhere; a file is in the place of a folder; something is neither file nor
/// folder; a folder cannot be read.
pub fn locate(root: &Path, path: &str) -> Result<Place, Problem> {
    check_legal(path)?;
    let mut place = Place {
        path: root.to_owned(),
        found: Found::Folder,
    };
    let mut name = String::new();
    for part in path.split('/') {
        place = match place.found {
            Found::Folder => step(root, &place.path.join(part), path)?,
            Found::Nothing => Place {
                path: place.path.join(part),
                found: Found::Nothing,
            },
            Found::File => {
                let what = format!("cannot be created: `{name}` is a file");
                return Err(conflict::conflict(
                    path,
                    what,
                    format!("move `{name}` away: a folder is needed there"),
                ));
            }
        };
        name += if name.is_empty() { "" } else { "/" };
        name += part;
    }
    Ok(place)
}

/// A place for a file, and what the file holds.
///
/// # Errors
/// As [`locate`], and if it is a folder or, for PROJECT, a link.
pub(super) fn read(root: &Path, path: &str) -> Result<(Place, Option<Vec<u8>>), Vec<Problem>> {
    if path == PROJECT && fs::symlink_metadata(root.join(path)).is_ok_and(|it| it.is_symlink()) {
        return Err(vec![conflict::conflict(
            path,
            "is a link",
            "replace the link with the file itself",
        )]);
    }
    let place = locate(root, path).map_err(|conflict| vec![conflict])?;
    let before = match place.found {
        Found::Nothing => None,
        Found::Folder => {
            return Err(vec![conflict::conflict(
                path,
                "is a folder",
                format!("move `{path}` away: a file goes there"),
            )]);
        }
        Found::File => Some(fs::read(&place.path).map_err(|error| vec![unreadable(path, &error)])?),
    };
    Ok((place, before))
}

fn check_legal(path: &str) -> Result<(), Problem> {
    let plain = |part| matches!(part, Component::Normal(_));
    // Whatever their case: a file system may ignore it.
    let is_ours = |part: &str| {
        [".git", ".kbr"]
            .iter()
            .any(|it| part.eq_ignore_ascii_case(it))
    };
    let ours = path.is_empty() || path.split('/').any(is_ours);
    let same = Path::new(path)
        .components()
        .collect::<PathBuf>()
        .as_os_str()
        == path;
    if same && !ours && Path::new(path).components().all(plain) {
        return Ok(());
    }
    Err(conflict::conflict(
        path,
        "is not a path of a project file",
        "use other names: this path leads out of the project, or into `.git` or `.kbr`",
    ))
}

/// From a folder to what is in it under one name.
fn step(root: &Path, next: &Path, path: &str) -> Result<Place, Problem> {
    let is = match fs::symlink_metadata(next) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Place {
                path: next.to_owned(),
                found: Found::Nothing,
            });
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    if !is.is_symlink() {
        return Ok(Place {
            path: next.to_owned(),
            found: kind(is, path)?,
        });
    }
    let link = next
        .strip_prefix(root)
        .unwrap_or(next)
        .display()
        .to_string();
    let help = format!("replace `{link}` with a file or folder");
    let Ok(real) = fs::canonicalize(next) else {
        return Err(conflict::conflict(
            path,
            format_args!("cannot be reached: the target of the link `{link}` does not exist"),
            help,
        ));
    };
    let inside = real.strip_prefix(root).ok().and_then(|real| real.to_str());
    if inside.is_none_or(|real| check_legal(real).is_err()) {
        return Err(conflict::conflict(
            path,
            format_args!("cannot be used: the link `{link}` leads out of the project"),
            help,
        ));
    }
    let is = fs::metadata(&real)
        .map_err(|error| unreadable(path, &error))?
        .file_type();
    Ok(Place {
        path: real,
        found: kind(is, path)?,
    })
}

fn kind(is: FileType, path: &str) -> Result<Found, Problem> {
    let odd = match () {
        () if is.is_file() => return Ok(Found::File),
        () if is.is_dir() => return Ok(Found::Folder),
        () if is.is_fifo() => "a named pipe",
        () if is.is_socket() => "a socket",
        () => "a device",
    };
    Err(conflict::conflict(
        path,
        format_args!("is {odd} or inside one"),
        format!("move `{path}` away: a file goes there"),
    ))
}

fn unreadable(path: &str, error: &io::Error) -> Problem {
    conflict::conflict(
        path,
        format_args!("cannot be read: {error}"),
        format!("make `{path}` readable"),
    )
}
