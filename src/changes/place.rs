//! Where a path of a project lies on disk. Links are followed, but never out of the project.

use std::cell::RefCell;
use std::collections::HashMap;
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

/// `root` without a link in it, as [`Locator`] wants it; one that is missing stays as it is.
///
/// # Errors
/// A folder on the way cannot be read.
pub fn real(root: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(root.to_owned()),
        result => result,
    }
}

/// Finds paths in the project at `root`, and remembers folders: the hundreds of files of a command lie in a few. For as long as
/// nothing creates or moves a folder.
pub struct Locator<'a> {
    root: &'a Path,
    folders: RefCell<HashMap<String, Place>>,
}

impl<'a> Locator<'a> {
    /// `root` must be [`real`] already, because resolving it for each path would take more time than everything else.
    pub fn new(root: &'a Path) -> Self {
        Locator {
            root,
            folders: RefCell::default(),
        }
    }

    /// Finds `path`, which is relative to the project and uses `/`.
    ///
    /// # Errors
    /// The path or a link leads out of the project, or a link leads nowhere; a file is in the place of a folder; something is neither
    /// file nor folder; a folder cannot be read.
    pub fn locate(&self, path: &str) -> Result<Place, Problem> {
        check_legal(path)?;
        self.find(path, path)
    }

    /// The place of `part`, which is `path` or a folder on the way there.
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
                format_args!("move `{folder}` away: a folder is needed there"),
            )),
        }
    }
}

/// Finds one path: see [`Locator::locate`].
///
/// # Errors
/// As there.
pub fn locate(root: &Path, path: &str) -> Result<Place, Problem> {
    Locator::new(root).locate(path)
}

/// A place for a file, and what the file holds.
///
/// # Errors
/// As [`Locator::locate`], and if it is a folder or, for PROJECT, a link.
pub(super) fn read(
    locator: &Locator,
    path: &str,
) -> Result<(Place, Option<Vec<u8>>), Vec<Problem>> {
    if path == PROJECT
        && fs::symlink_metadata(locator.root.join(path)).is_ok_and(|it| it.is_symlink())
    {
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
