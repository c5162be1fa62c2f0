//! The steps of all commands that write: ask, lock, read the project once, choose once, plan, commit, report.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{WriteArgs, report};
use crate::embedded;
use kbr_host::diagnostic::nothing_written;
use kbr_host::lines::Lines;
use kbr_host::output;
use kbr_scaffold::blueprint::{self, Blueprint, Edit, Presence, Source};
use kbr_scaffold::changes::{self, Change, Outside, Records};
use kbr_scaffold::commit::{self, Lock};
use kbr_scaffold::contents;
use kbr_scaffold::library::{self, Origin};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::scaffold::{Part, Policy};
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
    /// More text of PROJECT, which kbr does not change later.
    more: Vec<String>,
    /// Files of the last table added before each of them, which no template has.
    files: Vec<(Source, Part)>,
    /// Changes of files that templates write.
    edits: Vec<Edit>,
    /// Edits of files as they are on disk, by their paths.
    outside: Vec<(String, Outside)>,
}

impl Intent {
    /// A command for the project itself.
    pub fn head(project: &Project, presence: Presence) -> Self {
        Intent {
            tables: vec![(Source::Head, presence)],
            ..Intent::tables(project)
        }
    }

    /// A command for tables; call [`Intent::add`] for those that PROJECT lacks.
    pub fn tables(project: &Project) -> Self {
        Intent {
            project: project.clone(),
            tables: Vec::new(),
            more: Vec::new(),
            files: Vec::new(),
            edits: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// Adds `table` to PROJECT.
    pub fn add(&mut self, table: Table) {
        self.tables
            .push((Source::Table(self.project.tables.len()), Presence::New));
        self.project.tables.push(table);
    }

    /// Adds a table of the user to PROJECT.
    pub fn add_text(&mut self, text: String) {
        self.more.push(text);
    }

    /// Adds a file of the table that was added last.
    pub fn add_file(&mut self, path: String, text: String) {
        if let Some((source, _)) = self.tables.last() {
            let policy = Policy::Owned;
            self.files
                .push((*source, Part::Whole { path, policy, text }));
        }
    }

    /// Changes files that templates write.
    pub fn edit(&mut self, edits: impl IntoIterator<Item = Edit>) {
        self.edits.extend(edits);
    }

    /// Edits a file as it is on disk, after what the templates add to it.
    pub fn outside(&mut self, path: impl Into<String>, edit: Outside) {
        self.outside.push((path.into(), edit));
    }

    /// The project with the tables that were added so far.
    pub fn project(&self) -> &Project {
        &self.project
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
        records.tables.extend(self.more.iter().cloned());
        Ok(records)
    }

    /// The changes that the command makes on disk.
    fn resolve(&self, root: &Path, force: bool) -> anyhow::Result<Vec<Change>> {
        let sources: Vec<Source> = self.tables.iter().map(|(source, _)| *source).collect();
        let release = embedded::current()?;
        let mut blueprint = Blueprint::around(&sources, &self.project, &release)?;
        for (source, part) in &self.files {
            blueprint.add(*source, vec![part.clone()])?;
        }
        for edit in &self.edits {
            blueprint.edit(edit)?;
        }
        let wanted = blueprint::difference(&blueprint, &self.tables, force);
        let records = self.records()?;
        changes::resolve(root, &wanted, &self.outside, &records, &release.scaffolds)
    }
}

/// A project to which a command writes: locked, unless the command only reports what it would do.
#[derive(Debug)]
pub struct Session {
    root: PathBuf,
    args: WriteArgs,
    lock: Option<Lock>,
}

/// What a command does, and what it says about it: all of it from one look at the project.
#[derive(Debug)]
pub struct Plan {
    pub session: Session,
    pub changes: Vec<Change>,
    /// Consequences that the user might not expect.
    pub notes: Lines,
    /// What to do next, if anything is written.
    pub next_steps: Lines,
}

/// The root of the project that the current folder belongs to.
///
/// # Errors
/// There is none, or it belongs to another user.
fn root() -> anyhow::Result<PathBuf> {
    let current = env::current_dir().context("cannot find the current folder")?;
    workdir::find_root(&current)
}

/// Reads the project at `root`, for a command that extends or reduces it.
///
/// # Errors
/// PROJECT cannot be read; the project is of another release; its library is missing or too old.
fn load(root: &Path) -> anyhow::Result<Project> {
    let project = workdir::load(root)?;
    embedded::check(&project.head.kbr)?;
    // Of a library in the registry, cargo checks the version.
    if project.head.library == Origin::Vendored {
        library::check(contents::library_manifest(root)?.as_deref())?;
    }
    Ok(project)
}

/// The project as it is now, with its root, to ask questions about it. Not for plans: it may change before the answer.
///
/// # Errors
/// As [`open`].
pub fn peek(args: WriteArgs) -> anyhow::Result<(PathBuf, Project)> {
    let root = root()?;
    recover(&root, args)?;
    let project = load(&root)?;
    Ok((root, project))
}

/// Completes an interrupted commit, so that the next read sees the whole project. A dry run does not.
///
/// # Errors
/// Another kbr is running in the project, or the commit cannot be finished.
pub fn recover(root: &Path, args: WriteArgs) -> anyhow::Result<()> {
    if !args.dry_run {
        commit::lock(root)?;
    }
    Ok(())
}

/// Locks and reads the project of the current folder, for a command that extends or reduces it.
///
/// # Errors
/// As [`lock`]; PROJECT cannot be read; the project is of another release; its library is missing or too old.
pub fn open(args: WriteArgs) -> anyhow::Result<(Session, Project)> {
    let session = lock(root()?, args)?;
    let project = load(&session.root)?;
    Ok((session, project))
}

/// Locks the project at `root`, after completing an interrupted commit; a dry run only reports that commit.
///
/// # Errors
/// Another kbr is running in the project, or the commit cannot be finished.
pub fn lock(root: PathBuf, args: WriteArgs) -> anyhow::Result<Session> {
    let lock = if args.dry_run {
        if let Some(unfinished) = commit::unfinished(&root)? {
            output::problem("note", &unfinished);
        }
        None
    } else {
        Some(commit::lock(&root)?)
    };
    Ok(Session { root, args, lock })
}

impl Session {
    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Plans what `intent` adds to the project.
    ///
    /// # Errors
    /// Every conflict.
    pub fn plan(self, intent: &Intent, notes: Lines, next_steps: Lines) -> anyhow::Result<Plan> {
        let changes = intent.resolve(&self.root, self.args.force)?;
        Ok(Plan {
            session: self,
            changes,
            notes,
            next_steps,
        })
    }
}

/// Commits a plan and reports it; a dry run only reports it. Without a plan, there is nothing to do.
///
/// # Errors
/// There is no plan, and nothing was written; or the commit failed, and the error says what was.
pub fn run(plan: anyhow::Result<Option<Plan>>) -> anyhow::Result<()> {
    let Some(plan) = plan.map_err(nothing_written)? else {
        return Ok(());
    };
    let mut is_written = false;
    if let Some(lock) = &plan.session.lock {
        is_written = commit::commit(lock, &plan.changes)?;
        report::report(&plan.changes);
        if !is_written {
            output::message("nothing to do: the project is up to date");
        }
    } else {
        report::dry_run(&plan.changes)?;
    }
    output::lines(&plan.notes);
    if is_written {
        output::lines(&plan.next_steps);
    }
    Ok(())
}
