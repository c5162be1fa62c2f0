//! The record of an upgrade that is unfinished.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::changes::{self, Change};
use crate::commit::folder;
use crate::commit::paths::UPGRADE;
use crate::edited::sha256;
use kbr_host::diagnostic::{Diagnostic, Outcome};
use kbr_host::regular;

/// Its name in the folder of the upgrade.
pub const RECORD: &str = "record";
/// Increases with every change of the format.
const FORMAT: u32 = 1;

/// An unfinished upgrade.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspended {
    format: u32,
    /// The release that the project came from: `0.3.0`.
    pub from: String,
    /// The release of the upgrade: `0.4.0`.
    pub to: String,
    /// The files with conflict markers.
    pub unresolved: Vec<String>,
    /// The entries of git's index for these files before the upgrade, as `git ls-files --stage` prints them; empty without git.
    pub index: String,
    /// All files that the upgrade changed. The index of a file is the name of the copy of its content before.
    #[serde(rename = "file")]
    pub(super) files: Vec<Suspend>,
}

/// A file that the upgrade changed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suspend {
    pub path: String,
    /// Whether the file existed.
    pub existed: bool,
    /// SHA-256 of the content after the upgrade; `None` if it removed the file.
    pub after: Option<String>,
}

impl Suspended {
    /// The record of an upgrade that makes these `changes`.
    pub(super) fn new(
        changes: &[&Change],
        unresolved: Vec<String>,
        index: String,
        [from, to]: [&str; 2],
    ) -> Self {
        let files = changes.iter().map(|change| Suspend {
            path: change.path.clone(),
            existed: change.before.is_some(),
            after: change.result().map(sha256),
        });
        Suspended {
            format: FORMAT,
            from: from.to_owned(),
            to: to.to_owned(),
            unresolved,
            index,
            files: files.collect(),
        }
    }

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
            .outcome(Outcome::Described)
            .help("finish the upgrade with the kbr that started it; or keep the current files: `rm -r .kbr`")
    })?;
    Ok(Some(record))
}

/// Checks that no unfinished upgrade found.
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
