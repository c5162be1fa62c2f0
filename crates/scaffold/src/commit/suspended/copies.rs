//! The copies of the files before an upgrade, as long as it is unfinished.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::record::{RECORD, Suspended};
use crate::changes::Change;
use crate::commit::paths::{FOLDER, UPGRADE, UPGRADE_DRAFT};
use crate::commit::{disk, folder, lock::Lock};
use kbr_host::diagnostic::{Diagnostic, Outcome, Problem};
use kbr_host::regular;

/// Keeps the files before an upgrade, whose `changes` are committed next.
///
/// # Errors
/// They cannot be written.
pub fn begin(
    lock: &Lock,
    changes: &[Change],
    unresolved: Vec<String>,
    index: String,
    releases: [&str; 2],
) -> anyhow::Result<()> {
    end(lock)?;
    let root = lock.root();
    let changes: Vec<&Change> = changes.iter().filter(|change| change.writes()).collect();
    let record = Suspended::new(&changes, unresolved, index, releases);
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
pub fn committed(root: &Path) -> Result<(), Problem> {
    let draft = root.join(UPGRADE_DRAFT);
    if draft.join(RECORD).exists() {
        disk::rename(&draft, &root.join(UPGRADE))?;
    }
    Ok(())
}

/// Removes the folder of an upgrade that was not committed. If that fails, the next command does it; nothing depends on it.
pub fn clear(root: &Path) {
    let draft = root.join(UPGRADE_DRAFT);
    if draft.exists() {
        disk::remove_tree(&draft).ok();
    }
}
