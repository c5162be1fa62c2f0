//! The record of a commit, from which another process can complete it.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::paths::FOLDER;

use crate::changes::{self, Change, Found, Locator, Place};
use crate::edited::sha256;
use crate::tables;
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem};
use kbr_host::regular;

/// Increases with every change of the format of records.
const FORMAT: u32 = 3;

/// A whole commit. The index of a file in `files` is the name of its staged result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    format: u32,
    /// Folders to create, outer before inner, relative to the root.
    pub folders: Vec<String>,
    /// Folders from which files are removed, outer before inner: those that become empty are removed.
    pub emptied: Vec<String>,
    /// In the order in which they are replaced.
    #[serde(rename = "file")]
    pub files: Vec<FileRecord>,
}

/// One file of a commit.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Relative to the root; links are followed.
    pub path: String,
    /// Permission bits of the result; those of a new file before the umask.
    pub mode: u32,
    /// SHA-256 of the old content, in hexadecimal; `None` for a new file.
    pub before: Option<String>,
    /// SHA-256 of the result; `None` for a file that is removed.
    pub after: Option<String>,
}

impl Record {
    /// Looks up modes and missing folders.
    pub fn new(root: &Path, changes: &[&Change]) -> Result<Self, Problem> {
        let (mut folders, mut emptied) = (BTreeSet::new(), BTreeSet::new());
        let mut files = Vec::new();
        let locator = Locator::new(root);
        for change in changes {
            let place = locator.locate(&change.path)?;
            files.push(FileRecord {
                path: change.path.clone(),
                mode: mode(&place),
                before: change.before.as_deref().map(sha256),
                after: change.result().map(sha256),
            });
            if change.result().is_none() {
                emptied.extend(real_folders(root, &change.path));
            }
            let mut path = change.path.as_str();
            while let Some((folder, _)) = path.rsplit_once('/') {
                let is_known = place.found != Found::Nothing || folders.contains(folder);
                if is_known || locator.locate(folder)?.found != Found::Nothing {
                    break;
                }
                folders.insert(folder.to_owned());
                path = folder;
            }
        }
        Ok(Record {
            format: FORMAT,
            folders: folders.into_iter().collect(),
            emptied: emptied.into_iter().collect(),
            files,
        })
    }

    /// Reads the record at `path` in the project; `None` if there is none.
    pub fn load(root: &Path, path: &str) -> anyhow::Result<Option<Self>> {
        let text = match regular::text(&root.join(path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.with_context(|| format!("cannot read `{path}`"))?,
        };
        let record: Record = toml::from_str(&text)
            .map_err(|error| unknown_record(path).details(tables::shown(&error)))?;
        if record.format != FORMAT || !record.paths().all(changes::is_legal) {
            return Err(unknown_record(path).into());
        }
        Ok(Some(record))
    }

    pub fn to_toml(&self) -> Result<String, Problem> {
        toml::to_string(self).map_err(|error| {
            Problem::new(format!("cannot record the commit: {error}")).help("please report this")
        })
    }

    /// Checks that every target is still in the resolved state.
    pub fn check_unchanged(&self, root: &Path) -> Result<(), Problem> {
        let locator = Locator::new(root);
        for file in &self.files {
            if file.now(&locator)?.0 != file.before {
                return Err(
                    Problem::new(format!("`{}` changed while kbr was running", file.path))
                        .help("run the command again"),
                );
            }
        }
        Ok(())
    }

    /// Every path in it.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter().map(|file| &file.path);
        let all = files.chain(&self.folders).chain(&self.emptied);
        all.map(String::as_str)
    }

    /// Each path, as a message shows it.
    pub fn shown(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|file| format!("`{}`", file.path))
    }
}

impl FileRecord {
    /// The hash of the file's current content, and its resolved path.
    pub fn now(&self, locator: &Locator) -> Result<(Option<String>, PathBuf), Problem> {
        let place = locator.locate(&self.path)?;
        let hash = match place.found {
            Found::Nothing => None,
            Found::Folder => return Err(self.in_the_way("is now a folder")),
            Found::File => match regular::read(&place.path) {
                Ok(bytes) => Some(sha256(&bytes)),
                Err(error) => return Err(self.in_the_way(&format!("cannot be read: {error}"))),
            },
        };
        Ok((hash, place.path))
    }

    fn in_the_way(&self, what: &str) -> Problem {
        Problem::new(format!("`{}` {what}", self.path))
            .help(format!("check `{}`, then run the command again", self.path))
    }
}

/// The folders above the file at `path` in the project, except those behind a link, which the user made.
fn real_folders(root: &Path, path: &str) -> impl Iterator<Item = String> {
    let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    let is_real = |folder: &&str| {
        fs::symlink_metadata(root.join(folder)).is_ok_and(|metadata| metadata.is_dir())
    };
    ends.take_while(is_real).map(str::to_owned)
}

fn unknown_record(path: &str) -> Diagnostic {
    Diagnostic::new(format_args!("`{path}` is not a record of this kbr"))
        .outcome(Outcome::Described)
        .help(format_args!(
            "if a newer kbr started the commit, finish it with that kbr; or keep the current files: `rm -r {FOLDER}`"
        ))
}

/// The mode of the file, or `rw-rw-rw-` for a new one.
fn mode(place: &Place) -> u32 {
    if place.found == Found::Nothing {
        return 0o666;
    }
    fs::metadata(&place.path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777)
}
