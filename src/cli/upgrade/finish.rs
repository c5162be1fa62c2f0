//! The end of an upgrade with conflicts.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use super::super::report;
use super::git::Repository;
use super::{Args, afterwards, prepare};
use kbr_host::diagnostic::{Diagnostic, nothing_written};
use kbr_host::output;
use kbr_scaffold::changes::{self, Locator};
use kbr_scaffold::commit::{self, Lock, Suspended, suspended};
use kbr_scaffold::project::Project;
use kbr_scaffold::upgrade::{Span, marked};
use kbr_scaffold::workdir;

/// Finishes the upgrade once no file has conflict markers.
///
/// # Errors
/// There is no unfinished upgrade, or a conflict is unresolved.
pub fn resume(root: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let (lock, upgrade, project) = resumed(root).map_err(nothing_written)?;
    let left = unresolved(root, &upgrade)?;
    if !left.is_empty() {
        return Err(Diagnostic::new("unresolved conflicts")
            .list(left)
            .help("keep the lines that you want, remove the markers, and run `kbr upgrade --continue` again")
            .into());
    }
    if let Some(repository) = Repository::find_if_usable(root)
        && let Err(error) = repository.resolve(&upgrade.unresolved)
    {
        output::failure("warning", &error);
    }
    let notes = prepare::notes(root, &project, span(&upgrade))?;
    suspended::end(&lock)?;
    drop(lock);
    output::message(format_args!("upgraded the project to kbr {}", upgrade.to));
    afterwards::run(root, args, &notes);
    Ok(ExitCode::SUCCESS)
}

/// The unfinished upgrade of the project, if its files are here.
fn resumed(root: &Path) -> anyhow::Result<(Lock, Suspended, Project)> {
    let (lock, upgrade) = unfinished(root)?;
    let project = workdir::load(root)?;
    if project.head.kbr != upgrade.to {
        let text = format!(
            "PROJECT says kbr {}: this checkout lacks the unfinished upgrade",
            project.head.kbr
        );
        return Err(Diagnostic::new(text)
            .help("switch to the branch, or apply the stash, that has it")
            .help("or abandon the upgrade: `kbr upgrade --abort`")
            .into());
    }
    Ok((lock, upgrade, project))
}

/// Restores the files before the upgrade.
///
/// # Errors
/// There is no unfinished upgrade; the files cannot be written.
pub fn abort(root: &Path) -> anyhow::Result<ExitCode> {
    let plan = || {
        let (lock, upgrade) = unfinished(root)?;
        let abort = suspended::abort(&upgrade, root)?;
        Ok((lock, upgrade, abort))
    };
    let (lock, upgrade, abort) = plan().map_err(nothing_written)?;
    commit::commit(&lock, &abort.changes)?;
    report::report(&abort.changes);
    if let Some(repository) = Repository::find_if_usable(root) {
        let paths = upgrade.unresolved.iter().map(String::as_str);
        if let Err(error) = repository.replace(paths, &upgrade.index) {
            output::failure("warning", &error);
        }
    }
    let copies: Vec<&Path> = abort
        .edited
        .iter()
        .filter_map(|(_, copy)| copy.as_deref())
        .collect();
    let kept = if copies.is_empty() {
        None
    } else {
        Some(suspended::keep(&lock, &copies)?)
    };
    suspended::end(&lock)?;
    if abort.edited.is_empty() {
        output::message(format_args!("restored kbr {}", upgrade.from));
        return Ok(ExitCode::SUCCESS);
    }
    output::message(format_args!(
        "restored kbr {}; these files keep your later edits:",
        upgrade.from
    ));
    for (path, copy) in &abort.edited {
        let copy = copy
            .as_ref()
            .and_then(|copy| Some(kept.as_ref()?.join(copy.file_name()?)));
        let before = match copy {
            Some(copy) => {
                let copy = copy.strip_prefix(lock.root()).unwrap_or(&copy);
                format!("before the upgrade: `{}`", copy.display())
            }
            None => "the upgrade created it".to_owned(),
        };
        output::message(format_args!("  {path} ({before})"));
    }
    Ok(ExitCode::FAILURE)
}

/// Locks the project, and reads what is unfinished in it.
fn unfinished(root: &Path) -> anyhow::Result<(Lock, Suspended)> {
    let lock = commit::lock_suspended(root)?;
    let upgrade = suspended::find(root)?.ok_or_else(|| {
        Diagnostic::new("no unfinished upgrade found").help("to start one, run `kbr upgrade`")
    })?;
    Ok((lock, upgrade))
}

fn span(upgrade: &Suspended) -> Span<'_> {
    let (from, to) = (&upgrade.from, &upgrade.to);
    Span { from, to }
}

/// The places of conflict markers: `Makefile:12`.
fn unresolved(root: &Path, upgrade: &Suspended) -> anyhow::Result<Vec<String>> {
    let root = changes::real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let locator = Locator::new(&root);
    let mut left = Vec::new();
    for path in &upgrade.unresolved {
        let content = changes::read(&locator, path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&content);
        let marked = marked(&text, span(upgrade)).into_iter();
        left.extend(marked.map(|(number, line)| format!("{path}:{number}: {line}")));
    }
    Ok(left)
}
