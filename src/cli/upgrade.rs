//! `kbr upgrade`: brings a project to the release of this kbr.

mod afterwards;
mod diff;
mod finish;
mod git;
mod messages;
mod prepare;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use self::git::Repository;
use self::prepare::Prepared;
use super::init;
use super::report::Format;
use kbr_host::diagnostic::{Diagnostic, nothing_written};
use kbr_host::output;
use kbr_scaffold::changes::Change;
use kbr_scaffold::commit::{self, Lock, suspended};
use kbr_scaffold::library::Origin;
use kbr_scaffold::project::KBR;
use kbr_scaffold::workdir;

/// Upgrade the project to this kbr's release
///
/// Merges the scaffolds' changes since the project's release into your files, with a three-way merge as in git. Lines that both
/// sides changed become conflicts, which you resolve in an editor or with `git mergetool`. In controllers, types, webhooks and tests,
/// kbr keeps your lines and prints its changes instead. Needs no network, and writes everything or nothing.
///
///     kbr upgrade --dry-run
///     kbr upgrade
///     kbr upgrade --continue   # after conflicts
///     kbr upgrade --library registry
#[derive(Clone, Debug, Default, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
pub struct Args {
    /// Report what would be written, but write nothing
    #[arg(long, group = "verb")]
    dry_run: bool,
    /// Write nothing, and fail if the project needs an upgrade
    #[arg(long, group = "verb")]
    check: bool,
    /// Print the difference between the scaffolds of two releases for this project: `0.3.0..0.4.0`
    #[arg(long, group = "verb", value_name = "FROM..TO")]
    diff: Option<String>,
    /// Finish an upgrade whose conflicts are resolved
    #[arg(long = "continue", group = "verb")]
    continues: bool,
    /// Undo an unfinished upgrade; files that you edited since are listed and kept
    #[arg(long, group = "verb")]
    abort: bool,
    /// Also move the runtime library: into the project, or to the registry, as any other crate
    #[arg(long, value_parser = init::library(), value_name = "WHERE", conflicts_with_all = ["diff", "continues", "abort"])]
    library: Option<Origin>,
    /// Upgrade even if there are uncommitted changes
    #[arg(long)]
    allow_dirty: bool,
    /// Overwrite local changes to the runtime library
    #[arg(long)]
    discard_library_changes: bool,
    /// Run neither `kbr manifests` nor cargo afterwards
    #[arg(long)]
    no_check: bool,
    /// Format of `--check`
    #[arg(long, short, value_enum, default_value_t = Format::Text, requires = "check")]
    output: Format,
    /// Ask no questions: answer each with yes
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command. Fails with `--check` if there is something to upgrade, and after conflicts.
///
/// # Errors
/// The command failed. The error says whether anything was written.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder)?;
    if let Some(releases) = &args.diff {
        return diff::run(&root, releases);
    }
    if args.abort {
        return finish::abort(&root);
    }
    if args.continues {
        return finish::resume(&root, args);
    }
    if args.dry_run || args.check {
        return preview(&root, args).map_err(nothing_written);
    }
    let Some(ready) = ready(&root, args).map_err(nothing_written)? else {
        messages::nothing_to_do();
        return Ok(ExitCode::SUCCESS);
    };
    let Ready {
        lock,
        prepared,
        repository,
        entries,
    } = ready;
    write(&lock, &prepared, &entries)?;
    drop(lock);
    messages::changes(&prepared);
    if prepared.plan.conflicts.is_empty() {
        afterwards::run(&root, args, &prepared.notes);
        return Ok(ExitCode::SUCCESS);
    }
    messages::conflicts(&prepared, mark(repository.as_ref(), &prepared, &entries));
    Ok(ExitCode::FAILURE)
}

/// An upgrade that may be committed.
struct Ready {
    lock: Lock,
    prepared: Prepared,
    repository: Option<Repository>,
    /// The entries of git's index for the files with conflicts.
    entries: String,
}

/// Locks the project and plans the upgrade; `None` if the project is of this release.
fn ready(root: &Path, args: &Args) -> anyhow::Result<Option<Ready>> {
    let lock = commit::lock(root)?;
    let project = workdir::load(root)?;
    let wanted = args.library.unwrap_or(project.head.library);
    if prepare::is_current(&project, wanted) {
        return Ok(None);
    }
    let prepared = prepare::prepare(root, &project, wanted)?;
    prepared.check_library(args.discard_library_changes)?;
    let repository = if args.allow_dirty {
        Repository::find_if_usable(root)
    } else {
        Repository::find(root)?
    };
    if let Some(repository) = &repository {
        check_clean(repository, args.allow_dirty)?;
    }
    let entries = match &repository {
        Some(repository) => repository.entries(prepared.conflicting())?,
        None => String::new(),
    };
    Ok(Some(Ready {
        lock,
        prepared,
        repository,
        entries,
    }))
}

/// Reports the upgrade without writing.
fn preview(root: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(unfinished) = commit::unfinished(root)? {
        output::problem("note", &unfinished);
    }
    suspended::check(root)?;
    let project = workdir::load(root)?;
    let wanted = args.library.unwrap_or(project.head.library);
    let prepared = prepare::prepare(root, &project, wanted)?;
    let is_current = prepare::is_current(&project, wanted);
    if args.check {
        messages::check(&prepared, args.output, is_current)?;
        let code = if is_current {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
        return Ok(code);
    }
    if is_current {
        messages::nothing_to_do();
        return Ok(ExitCode::SUCCESS);
    }
    prepared.check_library(args.discard_library_changes)?;
    messages::changes(&prepared);
    messages::dry_run(&prepared)?;
    Ok(ExitCode::SUCCESS)
}

/// Commits the upgrade; one with conflicts keeps the files before it.
fn write(lock: &Lock, prepared: &Prepared, entries: &str) -> anyhow::Result<bool> {
    let changes: &[Change] = &prepared.plan.changes;
    if prepared.plan.conflicts.is_empty() {
        return commit::commit(lock, changes);
    }
    let unresolved = prepared.conflicting().map(str::to_owned);
    suspended::begin(
        lock,
        changes,
        unresolved.collect(),
        entries.to_owned(),
        [&prepared.from, KBR],
    )?;
    commit::commit(lock, changes).inspect_err(|_| {
        // What stays does not count, because nothing was committed.
        suspended::end(lock).ok();
    })
}

/// Shows the conflicts to git. Returns whether it knows them.
fn mark(repository: Option<&Repository>, prepared: &Prepared, entries: &str) -> bool {
    let marked = repository.map(|repository| repository.mark(&prepared.plan.conflicts, entries));
    match marked {
        Some(Ok(())) => true,
        Some(Err(error)) => {
            output::failure("warning", &error.context("git does not show the conflicts"));
            false
        }
        None => false,
    }
}

fn check_clean(repository: &Repository, may_be_dirty: bool) -> anyhow::Result<()> {
    const SHOWN: usize = 10;
    let unmerged = repository.unmerged()?;
    if !unmerged.is_empty() {
        return Err(
            Diagnostic::new("the project has unresolved merge conflicts")
                .list(unmerged)
                .help("resolve and commit them first")
                .into(),
        );
    }
    if may_be_dirty {
        return Ok(());
    }
    let files = repository.uncommitted()?;
    if files.is_empty() {
        return Ok(());
    }
    let mut shown = files[..files.len().min(SHOWN)].to_vec();
    if files.len() > SHOWN {
        shown.push(format!("… and {} more", files.len() - SHOWN));
    }
    Err(Diagnostic::new("the project has uncommitted changes")
        .list(shown)
        .help("commit or stash them, so that you can review and revert the upgrade on its own")
        .help("or pass `--allow-dirty`")
        .into())
}
