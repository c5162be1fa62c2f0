//! The common steps of all commands that write: from their tables to the report.

use std::path::Path;

use super::{WriteArgs, report};
use crate::embedded;
use kbr_host::output;
use kbr_scaffold::blueprint::{self, Blueprint, Presence, Source};
use kbr_scaffold::changes::{self, Change, Records};
use kbr_scaffold::commit;
use kbr_scaffold::library;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::workdir;

/// A table that a command needs.
#[derive(Debug)]
pub struct Planned<T> {
    pub value: T,
    /// Whether PROJECT already has the table; then the command repeats it.
    pub recorded: bool,
}

/// The project after a command, and the tables that belong to the command.
#[derive(Debug)]
pub struct Intent {
    /// With the command's tables.
    project: Project,
    /// The command's own tables, in the order of PROJECT.
    tables: Vec<(Source, Presence)>,
}

impl Intent {
    /// A command for the project itself.
    pub fn head(project: Project, presence: Presence) -> Self {
        Intent {
            project,
            tables: vec![(Source::Head, presence)],
        }
    }

    /// A command for tables; call [`Intent::add`] for those that PROJECT lacks.
    pub fn tables(project: &Project) -> Self {
        Intent {
            project: project.clone(),
            tables: Vec::new(),
        }
    }

    /// Adds `table` to PROJECT.
    pub fn add(&mut self, table: Table) {
        self.tables
            .push((Source::Table(self.project.tables.len()), Presence::New));
        self.project.tables.push(table);
    }

    /// Repeats each table of PROJECT that `is_selected`.
    pub fn again(&mut self, is_selected: impl Fn(&Table) -> bool) {
        let tables = self.project.tables.iter().enumerate();
        let known = tables.filter(|(_, table)| is_selected(table));
        let known = known.map(|(at, _)| (Source::Table(at), Presence::Recorded));
        self.tables.extend(known);
    }

    fn records(&self) -> anyhow::Result<Records> {
        let mut records = Records::default();
        for (source, presence) in &self.tables {
            match (source, presence) {
                (_, Presence::Recorded) => {}
                (Source::Head, Presence::New) => records.head = Some(self.project.head.text()?),
                (Source::Table(at), Presence::New) => {
                    records.tables.push(self.project.tables[*at].text()?);
                }
            }
        }
        Ok(records)
    }

    /// The changes that the command makes on disk.
    fn resolve(&self, root: &Path, force: bool) -> anyhow::Result<Vec<Change>> {
        let sources: Vec<Source> = self.tables.iter().map(|(source, _)| *source).collect();
        let release = embedded::current()?;
        let blueprint = Blueprint::around(&sources, &self.project, &release)?;
        let wanted = blueprint::difference(&blueprint, &self.tables, force);
        changes::resolve(root, &wanted, &self.records()?, &release.scaffolds)
    }
}

/// Completes an interrupted commit, so that the next read sees the whole project; a dry run only reports it.
///
/// # Errors
/// Another kbr is running in the project, or the commit cannot be finished.
pub fn recover(root: &Path, args: WriteArgs) -> anyhow::Result<()> {
    if !args.dry_run {
        commit::lock(root)?;
    } else if let Some(unfinished) = commit::unfinished(root)? {
        output::message(format_args!("note: {unfinished}"));
    }
    Ok(())
}

/// Reads the project at `root` for a command that extends or reduces it, after completing an interrupted commit.
///
/// # Errors
/// As [`recover`]; PROJECT cannot be read; the project is of another release; its library is missing or too old.
pub fn open(root: &Path, args: WriteArgs) -> anyhow::Result<Project> {
    recover(root, args)?;
    let project = workdir::load(root)?;
    embedded::check(&project.head.kbr)?;
    library::check(workdir::library_manifest(root)?.as_deref())?;
    Ok(project)
}

/// Computes the intent while the project is locked, and applies it; with `--dry-run` it only reports the changes. Returns whether
/// anything was written, and what comes with the intent: messages about the same project.
///
/// # Errors
/// The command failed; nothing was written.
pub fn apply<T>(
    root: &Path,
    args: WriteArgs,
    intent: impl FnOnce() -> anyhow::Result<(Intent, T)>,
) -> anyhow::Result<(bool, T)> {
    apply_changes(root, args, || {
        let (intent, messages) = intent()?;
        Ok((intent.resolve(root, args.force)?, messages))
    })
}

/// The same for changes that are already resolved.
///
/// # Errors
/// As [`apply`].
pub fn apply_changes<T>(
    root: &Path,
    args: WriteArgs,
    changes: impl FnOnce() -> anyhow::Result<(Vec<Change>, T)>,
) -> anyhow::Result<(bool, T)> {
    if args.dry_run {
        let (changes, messages) = changes()?;
        report::dry_run(&changes)?;
        return Ok((false, messages));
    }
    let lock = commit::lock(root)?;
    let (changes, messages) = changes()?;
    commit::commit(&lock, &changes)?;
    report::report(&changes);
    let written = changes.iter().any(Change::writes);
    if !written {
        output::message("nothing to do: the project is up to date");
    }
    Ok((written, messages))
}
