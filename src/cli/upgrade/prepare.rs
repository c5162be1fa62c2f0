//! Reads what an upgrade needs, and plans it.

use std::path::Path;

use anyhow::Context as _;

use crate::embedded;
use crate::sources;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_host::regular;
use kbr_scaffold::changes::{self, Change, Locator, Verb};
use kbr_scaffold::library::{self, Origin};
use kbr_scaffold::project::{self, KBR, PROJECT, Project};
use kbr_scaffold::upgrade::notes::{self, Note};
use kbr_scaffold::upgrade::{self, Changes, Disk, Plan, Span, Tree};

/// The most Rust that an upgrade reads beside the files of its plan, in bytes.
const MOST: usize = 256 << 20;

/// An upgrade that is ready to be written.
#[derive(Debug)]
pub struct Prepared {
    /// The project's release: `0.3.0`.
    pub from: String,
    pub plan: Plan,
    /// What is left to the user.
    pub notes: Vec<Note>,
    /// The files of the library that the user edited or added, each with its difference.
    pub edited: Vec<(String, String)>,
}

/// Plans the upgrade of the project at `root` to this release, with the library where `wanted` says.
///
/// # Errors
/// This kbr does not know the project's release; a file cannot be read.
pub fn prepare(root: &Path, project: &Project, wanted: Origin) -> anyhow::Result<Prepared> {
    let from = &project.head.kbr;
    let span = Span { from, to: KBR };
    let (ancestor, mut new) = trees(project, from, wanted)?;
    let disk = read(root, &ancestor, &new)?;
    let known = embedded::changes(from);
    let notes = left(&ancestor, &mut new, &disk, span, known);
    let mut plan = upgrade::plan(&ancestor, &new, &disk, span, known);
    if !is_current(project, wanted) {
        plan.changes.push(record(root, wanted)?);
    }
    Ok(Prepared {
        from: from.clone(),
        plan,
        notes,
        edited: upgrade::library::edited(&ancestor, &disk),
    })
}

/// What an upgrade leaves to the user, in the code as it is now.
///
/// # Errors
/// A file cannot be read.
pub fn notes(root: &Path, project: &Project, span: Span) -> anyhow::Result<Vec<Note>> {
    let (ancestor, mut new) = trees(project, span.from, project.head.library)?;
    let disk = read(root, &ancestor, &new)?;
    let known = embedded::changes(span.from);
    Ok(left(&ancestor, &mut new, &disk, span, known))
}

/// Whether the project is of this release already, with the library where `wanted` says.
pub fn is_current(project: &Project, wanted: Origin) -> bool {
    project.head.kbr == KBR && project.head.library == wanted
}

/// The project as its release writes it, and as this one does with the library where `wanted` says.
fn trees(project: &Project, from: &str, wanted: Origin) -> anyhow::Result<(Tree, Tree)> {
    let ancestor = upgrade::tree(project, &embedded::find(from)?)?;
    let mut project = project.clone();
    project.head.library = wanted;
    Ok((ancestor, upgrade::tree(&project, &embedded::current()?)?))
}

/// Switches off in `new` what the user's code is not ready for, and notes it with everything else that is left.
fn left(ancestor: &Tree, new: &mut Tree, disk: &Disk, span: Span, known: &Changes) -> Vec<Note> {
    let sources = notes::sources(disk, ancestor, new);
    let mut notes = notes::hold(new, &sources, span, known);
    notes.extend(notes::left(&sources, span, known));
    notes
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
        let text = format!("the upgrade would overwrite your changes to `{folder}`, shown above");
        Err(Diagnostic::new(text)
            .help("to save them: `kbr upgrade 2>/dev/null >../library.diff`")
            .help("to overwrite them: `kbr upgrade --discard-library-changes`")
            .into())
    }
}

/// The change of PROJECT.
fn record(root: &Path, library: Origin) -> anyhow::Result<Change> {
    let path = root.join(PROJECT);
    let before =
        regular::text(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let after = project::with_library(&project::upgraded(&before, KBR)?, library)?;
    Ok(Change {
        path: PROJECT.to_owned(),
        verb: Verb::Update,
        before: Some(before.into_bytes()),
        after: after.into_bytes(),
    })
}

/// The files of both trees, and the project's other Rust files: the user's, and those in the folder of the library.
fn read(root: &Path, ancestor: &Tree, new: &Tree) -> anyhow::Result<Disk> {
    let root = &changes::real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let locator = Locator::new(root);
    let mut disk = Disk::new();
    for path in upgrade::paths(ancestor, new) {
        if let Some(content) = changes::read(&locator, path)? {
            disk.insert(path.to_owned(), content);
        }
    }
    let mut left = MOST;
    for file in sources::rust(root) {
        let path = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        if disk.contains_key(&path) || is_vendored(root, &file) && !library::has(&path) {
            continue;
        }
        match changes::try_read(&locator, &path) {
            Ok(content) => {
                left = left.saturating_sub(content.as_ref().map_or(0, Vec::len));
                disk.extend(content.map(|content| (path, content)));
            }
            // A link out of the project, or what is not a file of code.
            Err(problems) => problems
                .iter()
                .for_each(|it| output::message(format_args!("note: skipped: {}", it.text()))),
        }
        if left == 0 {
            let text = format!("the project has more than {} MiB of Rust", MOST >> 20);
            let help = "move generated code to another folder, then run the command again";
            return Err(Diagnostic::new(text).help(help).into());
        }
    }
    Ok(disk)
}

/// Whether cargo compares the file with a checksum.
fn is_vendored(root: &Path, file: &Path) -> bool {
    let mut folders = file.ancestors().take_while(|folder| *folder != root);
    folders.any(|folder| folder.join(".cargo-checksum.json").is_file())
}
