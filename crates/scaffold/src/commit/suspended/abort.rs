//! Aborts an unfinished upgrade: restores the files before it, apart from those that were edited since.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::record::Suspended;
use crate::changes::{self, Change, Locator, Verb};
use crate::commit::paths::UPGRADE;
use crate::edited::sha256;
use crate::project::{self, PROJECT};
use kbr_host::regular;

/// What aborting an upgrade changes.
#[derive(Debug)]
pub struct Abort {
    /// The changes that restore the files.
    pub changes: Vec<Change>,
    /// The files that were edited since, each with the copy of its content before the upgrade if it had one.
    pub edited: Vec<(String, Option<PathBuf>)>,
}

/// Compares the files with those that the upgrade wrote.
///
/// # Errors
/// A file or a copy cannot be read.
pub fn abort(upgrade: &Suspended, root: &Path) -> anyhow::Result<Abort> {
    let mut abort = Abort {
        changes: Vec::new(),
        edited: Vec::new(),
    };
    let locator = Locator::new(root);
    for (at, file) in upgrade.files.iter().enumerate() {
        let copy = root.join(UPGRADE).join(at.to_string());
        let read =
            || regular::read(&copy).with_context(|| format!("cannot read `{}`", copy.display()));
        let before = file.existed.then(read).transpose()?;
        let now = changes::read(&locator, &file.path)?;
        if now == before {
            continue;
        }
        if now.as_deref().map(sha256) != file.after {
            if file.path == PROJECT {
                abort.changes.push(release_back(now, &upgrade.from)?);
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

/// PROJECT with the edits of the user, of the release before.
fn release_back(now: Option<Vec<u8>>, from: &str) -> anyhow::Result<Change> {
    let text = String::from_utf8(now.clone().unwrap_or_default());
    let text = text.with_context(|| format!("`{PROJECT}` is not UTF-8 text"))?;
    Ok(Change {
        path: PROJECT.to_owned(),
        verb: Verb::Update,
        before: now,
        after: project::with_release(&text, from)?.into_bytes(),
    })
}
