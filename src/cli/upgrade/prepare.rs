//! Reads what an upgrade needs, and plans it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::changes::{self, Change, Locator, Verb};
use crate::diagnostic::Diagnostic;
use crate::library;
use crate::manifests;
use crate::output;
use crate::project::{self, KBR, PROJECT, Project};
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
    /// The files of the library that the user edited or added, each with its difference.
    pub edited: Vec<(String, String)>,
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
    let own = own_in_library(root, &ancestor)?;
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
        plan.changes.push(record(root)?);
    }
    let mut edited = upgrade::library::edited(&ancestor, &disk);
    plan.dropped
        .extend(own.iter().map(|(path, _)| path.clone()));
    edited.extend(own);
    Ok(Prepared {
        from: from.clone(),
        plan,
        notes,
        edited,
    })
}

impl Prepared {
    /// The paths of the files with conflict markers.
    pub fn conflicting(&self) -> impl Iterator<Item = &str> {
        self.plan
            .conflicts
            .iter()
            .map(|conflict| conflict.path.as_str())
    }

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
            .help("keep the difference if you need it: `kbr upgrade 2>/dev/null >../library.diff`")
            .help("then discard it: `kbr upgrade --discard-library-changes`")
            .into())
    }
}

/// What an upgrade between two releases leaves to the user, in the code as it is now.
///
/// # Errors
/// A file cannot be read.
pub fn notes(root: &Path, project: &Project, releases: [&str; 2]) -> anyhow::Result<Vec<Note>> {
    let [from, _] = releases;
    let ancestor = upgrade::tree(project, &release::of(from)?)?;
    let sources = sources(root, &ancestor)?;
    let mut new = upgrade::tree(project, &Release::current()?)?;
    let mut notes = notes::hold(&mut new, &sources, releases);
    notes.extend(notes::left(&sources, releases));
    Ok(notes)
}

/// The change of PROJECT.
fn record(root: &Path) -> anyhow::Result<Change> {
    let path = root.join(PROJECT);
    let before = fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`, nothing was written", path.display()))?;
    let after = project::upgraded(&before, KBR)?;
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

/// The Rust files that the user added to the library's folder, each with its difference.
fn own_in_library(root: &Path, ancestor: &Tree) -> anyhow::Result<Vec<(String, String)>> {
    let mut own = Vec::new();
    for file in watch::rust(root) {
        let path = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let Some(folder) = library::folder_of(&path) else {
            continue;
        };
        let is_library = ancestor
            .keys()
            .any(|known| library::folder_of(known) == Some(folder));
        if is_library && !ancestor.contains_key(&path) {
            let after =
                fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            let change = Change {
                path: path.clone(),
                verb: Verb::Create,
                before: None,
                after,
            };
            own.push((path, manifests::diff(&change)));
        }
    }
    Ok(own)
}

/// Whether cargo compares the file with a checksum.
fn is_vendored(root: &Path, file: &Path) -> bool {
    let folders = file.ancestors().take_while(|folder| *folder != root);
    folders
        .into_iter()
        .any(|folder| folder.join(".cargo-checksum.json").is_file())
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
        if !is_pristine && !library::has(&path) && !is_vendored(root, &file) {
            sources.insert(path, text);
        }
    }
    Ok(sources)
}
