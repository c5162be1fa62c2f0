//! An upgrade with conflicts, until the user has resolved or aborted it: the files before it, in `.kbr/upgrade`.
//!
//! The folder is complete, under another name, before the commit of the upgrade begins, and gets its name as the last step of that
//! commit. So it exists exactly as long as an upgrade is unfinished, whatever interrupts kbr, and whatever the user does with PROJECT.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{FOLDER, Lock, UPGRADE, UPGRADE_DRAFT, disk, folder};
use crate::changes::{self, Change, Locator, Verb};
use crate::hash::sha256;
use crate::project::{self, PROJECT};
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem};
use kbr_host::regular;

const RECORD: &str = "record";
/// Increases with every change of the format.
const FORMAT: u32 = 1;

/// An unfinished upgrade.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspended {
    format: u32,
    /// The release that the project came from: `0.1.0`.
    pub from: String,
    /// The release of the upgrade: `0.2.0`.
    pub to: String,
    /// The files with conflict markers.
    pub unresolved: Vec<String>,
    /// The entries of git's index for these files before the upgrade, as `git ls-files --stage` prints them; empty without git.
    pub index: String,
    /// All files that the upgrade changed. The index of a file is the name of the copy of its content before.
    #[serde(rename = "file")]
    files: Vec<Suspend>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suspend {
    path: String,
    /// Whether the file existed.
    existed: bool,
    /// SHA-256 of the content after the upgrade; `None` if it removed the file.
    after: Option<String>,
}

/// What aborting an upgrade changes.
#[derive(Debug)]
pub struct Abort {
    /// The changes that restore the files.
    pub changes: Vec<Change>,
    /// The files that were edited since, each with the copy of its content before the upgrade if it had one.
    pub edited: Vec<(String, Option<PathBuf>)>,
}

/// Keeps the files before an upgrade, whose `changes` are committed next.
///
/// # Errors
/// They cannot be written.
pub fn begin(
    lock: &Lock,
    changes: &[Change],
    unresolved: Vec<String>,
    index: String,
    [from, to]: [&str; 2],
) -> anyhow::Result<()> {
    end(lock)?;
    let root = lock.root();
    let changes: Vec<&Change> = changes.iter().filter(|change| change.writes()).collect();
    let files = changes.iter().map(|change| Suspend {
        path: change.path.clone(),
        existed: change.before.is_some(),
        after: change.result().map(sha256),
    });
    let record = Suspended {
        format: FORMAT,
        from: from.to_owned(),
        to: to.to_owned(),
        unresolved,
        index,
        files: files.collect(),
    };
    let record = toml::to_string(&record).context("cannot record the upgrade")?;
    let draft = root.join(UPGRADE_DRAFT);
    let write = || {
        folder::create(root)?;
        disk::create_folder(&draft)?;
        for (at, change) in changes.iter().enumerate() {
            if let Some(before) = &change.before {
                disk::write(&draft.join(at.to_string()), before, 0o600)?;
            }
        }
        disk::write(&draft.join(RECORD), record.as_bytes(), 0o600)
    };
    write().map_err(|failure| {
        end(lock).ok();
        failure.outcome(Outcome::NothingWritten).into()
    })
}

/// Forgets the upgrade, and removes all copies.
///
/// # Errors
/// They cannot be removed.
pub fn end(lock: &Lock) -> anyhow::Result<()> {
    for folder in [UPGRADE_DRAFT, UPGRADE] {
        let folder = lock.root().join(folder);
        if folder.exists() {
            // Without the record, the rest does not count.
            let record = folder.join(RECORD);
            let removed = if record.exists() {
                disk::remove_file(&record)
            } else {
                Ok(())
            };
            removed
                .and_then(|()| disk::remove_tree(&folder))
                .map_err(Diagnostic::from)?;
        }
    }
    folder::remove(lock.root());
    Ok(())
}

/// Copies the files before the upgrade at these `paths` to a folder that kbr does not use again; returns it.
///
/// # Errors
/// They cannot be written.
pub fn keep(lock: &Lock, copies: &[&Path]) -> anyhow::Result<PathBuf> {
    let folder = |number: usize| {
        lock.root()
            .join(format!("{FOLDER}/before-upgrade-{number}"))
    };
    let is_free = |folder: &PathBuf| fs::symlink_metadata(folder).is_err();
    let free = (1..=1_000).map(folder).find(is_free);
    let folder = free.context("there are too many folders")?;
    disk::create_folder(&folder).map_err(Diagnostic::from)?;
    for copy in copies {
        let content =
            regular::read(copy).with_context(|| format!("cannot read `{}`", copy.display()))?;
        let name = copy.file_name().unwrap_or_default();
        disk::write(&folder.join(name), &content, 0o600).map_err(Diagnostic::from)?;
    }
    Ok(folder)
}

/// The last step of the commit of an upgrade: from now on it is unfinished.
pub(super) fn committed(root: &Path) -> Result<(), Problem> {
    let draft = root.join(UPGRADE_DRAFT);
    if draft.join(RECORD).exists() {
        disk::rename(&draft, &root.join(UPGRADE))?;
    }
    Ok(())
}

/// Removes the folder of an upgrade that was not committed. If that fails, the next command does it; nothing depends on it.
pub(super) fn clear(root: &Path) {
    let draft = root.join(UPGRADE_DRAFT);
    if draft.exists() {
        disk::remove_tree(&draft).ok();
    }
}

/// The unfinished upgrade of the project at `root`, if there is one.
///
/// # Errors
/// The record cannot be read, or is not kbr's own.
pub fn find(root: &Path) -> anyhow::Result<Option<Suspended>> {
    if !folder::check(root)? {
        return Ok(None);
    }
    let path = root.join(UPGRADE).join(RECORD);
    let text = match regular::text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    let record: Result<Suspended, _> = toml::from_str(&text);
    let record = record.ok().filter(Suspended::is_valid).ok_or_else(|| {
        Diagnostic::new(format_args!("`{UPGRADE}` is not a record of this kbr"))
            .outcome(Outcome::Unmentioned)
            .help("finish the upgrade with the kbr that began it; or keep the project as it is: `rm -r .kbr`")
    })?;
    Ok(Some(record))
}

/// Checks that no upgrade is unfinished.
///
/// # Errors
/// One is; or the record cannot be read.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let Some(upgrade) = find(root)? else {
        return Ok(());
    };
    let text = format!(
        "the upgrade from kbr {} to {} is unfinished",
        upgrade.from, upgrade.to
    );
    let resolve = format!(
        "resolve the conflicts in {}, then run `kbr upgrade --continue`",
        list(&upgrade.unresolved)
    );
    Err(Diagnostic::new(text)
        .help(resolve)
        .help("or run `kbr upgrade --abort`, which restores the files")
        .into())
}

/// `a`, `b` and 3 more
fn list(paths: &[String]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(3)
        .map(|path| format!("`{path}`"))
        .collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Suspended {
    /// Whether this kbr can have written it: its paths lead nowhere else.
    fn is_valid(&self) -> bool {
        let files = self.files.iter().map(|file| &file.path);
        let mut paths = files.chain(&self.unresolved);
        let is_release = |text: &str| {
            text.chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c))
        };
        self.format == FORMAT
            && is_release(&self.from)
            && is_release(&self.to)
            && paths.all(|path| changes::is_legal(path))
    }

    /// Compares the files with those that the upgrade wrote.
    ///
    /// # Errors
    /// A file or a copy cannot be read.
    pub fn abort(&self, root: &Path) -> anyhow::Result<Abort> {
        let mut abort = Abort {
            changes: Vec::new(),
            edited: Vec::new(),
        };
        let locator = Locator::new(root);
        for (at, file) in self.files.iter().enumerate() {
            let copy = root.join(UPGRADE).join(at.to_string());
            let read = || {
                regular::read(&copy).with_context(|| format!("cannot read `{}`", copy.display()))
            };
            let before = file.existed.then(read).transpose()?;
            let now = changes::read(&locator, &file.path)?;
            if now == before {
                continue;
            }
            if now.as_deref().map(sha256) != file.after {
                if file.path == PROJECT {
                    abort.changes.push(release_back(now, &self.from)?);
                }
                abort
                    .edited
                    .push((file.path.clone(), file.existed.then_some(copy)));
                continue;
            }
            let verb = match (&now, &before) {
                (None, _) => Verb::Create,
                (_, None) => Verb::Remove,
                _ => Verb::Update,
            };
            abort.changes.push(Change {
                path: file.path.clone(),
                verb,
                before: now,
                after: before.unwrap_or_default(),
            });
        }
        Ok(abort)
    }
}

/// PROJECT with the edits of the user, of the release before.
fn release_back(now: Option<Vec<u8>>, from: &str) -> anyhow::Result<Change> {
    let text = String::from_utf8(now.clone().unwrap_or_default());
    let text =
        text.with_context(|| format!("`{PROJECT}` is not UTF-8 text, nothing was written"))?;
    Ok(Change {
        path: PROJECT.to_owned(),
        verb: Verb::Update,
        before: now,
        after: project::with_release(&text, from)?.into_bytes(),
    })
}
