//! Resolves the paths of a project on disk. Links are followed, but never out of the project.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use super::conflict;
use crate::project::PROJECT;
use crate::quote::is_plain;
use kbr_host::diagnostic::Problem;
use kbr_host::regular;

/// The file system entry at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No entry has that name.
    Nothing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// The resolved location of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path, without links as far as it exists.
    pub path: PathBuf,
    /// What is there.
    pub found: Found,
}

/// `root` without links, as [`Locator`] requires. Folders that are missing are created later, so they are no links.
///
/// # Errors
/// A parent folder cannot be read.
pub fn real(root: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match (root.parent(), root.components().next_back()) {
                (Some(above), Some(Component::Normal(name))) => Ok(real(above)?.join(name)),
                (Some(above), Some(Component::ParentDir)) => {
                    Ok(real(above)?.parent().unwrap_or(above).to_owned())
                }
                _ => Ok(root.to_owned()),
            }
        }
        result => result,
    }
}

/// Resolves paths in the project at `root`, and caches folders, since the hundreds of files of a command share a few of them. Valid
/// as long as no folder is created or moved.
pub struct Locator<'a> {
    root: &'a Path,
    folders: RefCell<HashMap<String, Place>>,
}

impl<'a> Locator<'a> {
    /// `root` must already be resolved by [`real`], because resolving it for each path would dominate the run time.
    pub fn new(root: &'a Path) -> Self {
        Locator {
            root,
            folders: RefCell::default(),
        }
    }

    /// Resolves `path`, which is relative to the project and uses `/`.
    ///
    /// # Errors
    /// The path or a link leads out of the project; the target of a link does not exist; a parent is a file; an entry is neither a file
    /// nor a folder; a folder cannot be read.
    pub fn locate(&self, path: &str) -> Result<Place, Problem> {
        check_legal(path)?;
        self.find(path, path)
    }

    /// The place of `part`, which is `path` or one of its parents.
    fn find(&self, part: &str, path: &str) -> Result<Place, Problem> {
        let Some((folder, name)) = part.rsplit_once('/') else {
            return step(self.root, &self.root.join(part), path);
        };
        let known = self.folders.borrow().get(folder).cloned();
        let place = if let Some(place) = known {
            place
        } else {
            let place = self.find(folder, path)?;
            let mut folders = self.folders.borrow_mut();
            folders.insert(folder.to_owned(), place.clone());
            place
        };
        match place.found {
            Found::Folder => step(self.root, &place.path.join(name), path),
            Found::Nothing => Ok(Place {
                path: place.path.join(name),
                found: Found::Nothing,
            }),
            Found::File => Err(conflict::conflict(
                path,
                format_args!("cannot be created: `{folder}` is a file"),
                format_args!("move the file `{folder}` away: kbr needs a folder there"),
            )),
        }
    }
}

/// Resolves one path: see [`Locator::locate`].
///
/// # Errors
/// As [`Locator::locate`].
pub fn locate(root: &Path, path: &str) -> Result<Place, Problem> {
    Locator::new(root).locate(path)
}

/// The place of a file, and the file's content.
///
/// # Errors
/// As [`Locator::locate`]; also if the entry is a folder or, for PROJECT, a link.
pub(super) fn read(
    locator: &Locator,
    path: &str,
) -> Result<(Place, Option<Vec<u8>>), Vec<Problem>> {
    if path == PROJECT && is_link(locator, path) {
        return Err(vec![conflict::conflict(
            path,
            "is a link",
            "replace the link with the file itself",
        )]);
    }
    let place = locator.locate(path).map_err(|conflict| vec![conflict])?;
    let before = match place.found {
        Found::Nothing => None,
        Found::Folder => {
            return Err(vec![conflict::conflict(
                path,
                "is a folder",
                format!("move `{path}` away: kbr needs a file there"),
            )]);
        }
        Found::File => {
            Some(regular::read(&place.path).map_err(|error| vec![unreadable(path, &error)])?)
        }
    };
    Ok((place, before))
}

/// Whether the last part of `path` is a link.
pub(super) fn is_link(locator: &Locator, path: &str) -> bool {
    fs::symlink_metadata(locator.root.join(path)).is_ok_and(|it| it.is_symlink())
}

/// Whether `path` may be one of a file or folder of a project: below its root, neither git's nor kbr's own, and visible text.
pub fn is_legal(path: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_));
    // Case is ignored, because a file system may ignore it.
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
    same && !ours && path.chars().all(is_plain) && Path::new(path).components().all(plain)
}

fn check_legal(path: &str) -> Result<(), Problem> {
    if is_legal(path) {
        return Ok(());
    }
    Err(conflict::conflict(
        path,
        "is not the path of a project file",
        "use other names: this path leads out of the project, into `.git` or `.kbr`, or has a character that no one sees",
    ))
}

/// Resolves the entry with one name in a folder.
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

fn kind(found: FileType, path: &str) -> Result<Found, Problem> {
    let odd = if found.is_file() {
        return Ok(Found::File);
    } else if found.is_dir() {
        return Ok(Found::Folder);
    } else if found.is_fifo() {
        "a named pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(conflict::conflict(
        path,
        format_args!("is {odd} or inside one"),
        format!("move `{path}` away: kbr needs a file there"),
    ))
}

fn unreadable(path: &str, error: &io::Error) -> Problem {
    conflict::conflict(
        path,
        format_args!("cannot be read: {error}"),
        format!("make `{path}` readable"),
    )
}
