//! `kbr delete`: removes from a project what `kbr create` added.

mod api;
mod controller;
mod deletion;
mod leftovers;
mod tables;
#[cfg(test)]
mod tests;
mod webhook;

pub use self::tables::command;
use super::WriteArgs;
use super::write::{self, Plan};
use kbr_host::lines::Lines;
use kbr_scaffold::changes::removal::Removed;

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
/// As [`write::run`].
pub fn run(command: &Command) -> anyhow::Result<()> {
    write::run(plan(command).map(Some))
}

fn plan(command: &Command) -> anyhow::Result<Plan> {
    let args = match command {
        Command::Api(args) => args.write,
        Command::Controller(args) => args.write,
        Command::Webhook(args) => args.write,
    };
    let (session, project) = write::open(args.write())?;
    let root = session.root();
    let deletion = match command {
        Command::Api(args) => {
            api::choose(args, &project, &|api| api::is_stored(root, &project, api))?
        }
        Command::Controller(args) => controller::choose(args, &project)?,
        Command::Webhook(args) => webhook::choose(args, &project)?,
    };
    let Removed { changes, notes } = deletion.resolve(root, args.force)?;
    let mut lines: Lines = notes
        .iter()
        .map(|it| format!("note: {}", it.text()))
        .collect();
    lines += &deletion.notes();
    // PROJECT has only names, which are one line each.
    lines.extend(leftovers::stays(&deletion, &changes).lines());
    Ok(Plan {
        notes: lines,
        changes,
        session,
        next_steps: Lines::from("next:\n  make manifests\n  make test\n"),
    })
}
