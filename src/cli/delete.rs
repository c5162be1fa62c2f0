//! `kbr delete`: removes from a project what `kbr create` added.

mod api;
mod controller;
mod deletion;
mod leftovers;
mod tables;
#[cfg(test)]
mod tests;
mod webhook;

use std::env;
use std::path::Path;

use anyhow::Context as _;

use self::deletion::Deletion;
use super::WriteArgs;
use super::write;
use kbr_host::output;
use kbr_scaffold::project::Project;
use kbr_scaffold::workdir;

/// Remove an API, a controller or webhooks from the project
///
/// Undoes what `kbr create` did. It does not change clusters: kbr prints what remains there, and the commands that delete it.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Api(api::Args),
    Controller(controller::Args),
    Webhook(webhook::Args),
}

/// The flags that each of them has.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DeleteArgs {
    /// Report what would be removed, but remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove files and functions even if you have edited them: your changes to them are lost
    #[arg(long)]
    force: bool,
    /// Ask no questions; accepted for scripts, because this command asks none
    #[arg(short, long)]
    yes: bool,
}

impl DeleteArgs {
    fn write(self) -> WriteArgs {
        let DeleteArgs {
            dry_run,
            force,
            yes,
        } = self;
        WriteArgs {
            dry_run,
            force,
            yes,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The command failed; nothing was written.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Api(args) => delete(args.write, |project, root| {
            api::choose(args, project, &|api| api::is_stored(root, project, api))
        }),
        Command::Controller(args) => {
            delete(args.write, |project, _| controller::choose(args, project))
        }
        Command::Webhook(args) => delete(args.write, |project, _| webhook::choose(args, project)),
    }
}

/// Removes what `choose` selects in the project of the current folder.
fn delete(
    args: DeleteArgs,
    choose: impl Fn(&Project, &Path) -> anyhow::Result<Deletion>,
) -> anyhow::Result<()> {
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&current)?;
    write::open(&root, args.write())?;
    let (written, (consequences, notes, stays)) =
        write::apply_changes(&root, args.write(), || {
            let deletion = choose(&workdir::load(&root)?, &root)?;
            let removed = deletion.resolve(&root, args.force)?;
            let stays = leftovers::stays(&deletion, &removed.changes);
            Ok((removed.changes, (deletion.notes(), removed.notes, stays)))
        })?;
    for problem in notes {
        output::message(format_args!("note: {problem}"));
    }
    output::text(&consequences);
    output::text(&stays);
    if written {
        output::text("next:\n  make manifests\n  make test\n");
    }
    Ok(())
}
