//! Reads what an upgrade needs, and plans it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::changes::{self, Change, Locator, Verb};
use crate::diagnostic::Diagnostic;
use crate::library;
use crate::output;
use crate::project::{KBR, PROJECT, Project};
use crate::release::{self, Release};
use crate::upgrade::notes::{self, Note, Sources};
use crate::upgrade::{self, Disk, Labels, Plan, Tree};
use crate::watch;

/// An upgrade that is ready to be written.
#[derive(Debug)]
pub struct Prepared {
    /// The project's release: `0.1.0`.
    pub from: String,
    pub plan: Plan,
    /// What is left to the user.
    pub notes: Vec<Note>,
    /// The files of the library that the user edited, each with its difference.
    edited: Vec<(String, String)>,
}

/// Plans the upgrade of the project at `root` to this release.
///
/// # Errors
/// This kbr does not know the project's release; a file cannot be read.
pub fn prepare(root: &Path, project: &Project) -> anyhow::Result<Prepared> {
    let from = &project.head.kbr;
    let ancestor = upgrade::tree(project, &release::of(from)?)?;
    let mut new = upgrade::tree(project, &Release::current()?)?;
    let disk = read(root, &ancestor, &new)?;
    let releases = [from.as_str(), KBR];
    let sources = sources(root, &ancestor)?;
    let mut notes = notes::hold(&mut new, &sources, releases);
    notes.extend(notes::left(&sources, releases));
    let labels = Labels { from, to: KBR };
    let mut plan = upgrade::plan(&ancestor, &new, &disk, labels);
    for (path, text) in &sources {
        let is_planned = ancestor.contains_key(path) || new.contains_key(path);
        let after = upgrade::rewritten(path, text, labels);
        if !is_planned && after != *text {
            plan.changes.push(Change {
                path: path.clone(),
                verb: Verb::Merge,
                before: Some(text.clone().into_bytes()),
                after: after.into_bytes(),
            });
        }
    }
    plan.changes.sort_by(|a, b| a.path.cmp(&b.path));
    if from != KBR {
        plan.changes.push(record(root, project)?);
    }
    Ok(Prepared {
        from: from.clone(),
        plan,
        notes,
        edited: upgrade::library::edited(&ancestor, &disk),
    })
}

impl Prepared {
    /// Checks that replacing the library loses nothing that the user wants to keep; prints its edits otherwise.
    ///
    /// # Errors
    /// It was edited, and the changes may not be discarded.
    pub fn check_library(&self, may_discard: bool) -> anyhow::Result<()> {
        let Some((first, _)) = self.edited.first().filter(|_| !may_discard) else {
            return Ok(());
        };
        for (_, diff) in &self.edited {
            output::data(diff)?;
        }
        let folder = library::folder_of(first).unwrap_or(library::FOLDER);
        let text =
            format!("`{folder}` was edited, and an upgrade replaces it: see the difference above");
        Err(Diagnostic::new(text)
            .help("keep the difference if you need it: `kbr upgrade 2>/dev/null >library.diff`")
            .help("then discard it: `kbr upgrade --discard-library-changes`")
            .into())
    }
}

/// The change of PROJECT.
fn record(root: &Path, project: &Project) -> anyhow::Result<Change> {
    let path = root.join(PROJECT);
    let before = fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`, nothing was written", path.display()))?;
    let after = upgrade::project::upgraded(&before, &project.head, KBR)?;
    Ok(Change {
        path: PROJECT.to_owned(),
        verb: Verb::Update,
        before: Some(before.into_bytes()),
        after: after.into_bytes(),
    })
}

fn read(root: &Path, ancestor: &Tree, new: &Tree) -> anyhow::Result<Disk> {
    let root = changes::real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let locator = Locator::new(&root);
    let mut disk = Disk::new();
    for path in upgrade::paths(ancestor, new) {
        if let Some(content) = changes::read(&locator, path)? {
            disk.insert(path.to_owned(), content);
        }
    }
    Ok(disk)
}

/// The project's Rust files that differ from what its release wrote, without the library.
fn sources(root: &Path, ancestor: &Tree) -> anyhow::Result<Sources> {
    let mut sources = Sources::new();
    for file in watch::rust(root) {
        let path = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let bytes = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        // What is not text is not Rust.
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let is_pristine = ancestor
            .get(&path)
            .is_some_and(|pristine| pristine.text == text);
        if !is_pristine && !library::has(&path) {
            sources.insert(path, text);
        }
    }
    Ok(sources)
}
