//! `kbr create webhook`: defaults, validation, and conversion between versions.

mod args;
mod chosen;
mod messages;
mod others;
#[cfg(test)]
mod tests;
mod wanted;

use std::env;

use anyhow::Context as _;

use self::args::WebhookParts;
use self::chosen::WebhookSelection;
use super::super::prompt;
use super::super::write::{self, Intent};
use kbr_host::output;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::workdir;

pub use self::args::Args;

/// Runs the command.
///
/// # Errors
/// The command failed; nothing was written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&current)?;
    let project = write::open(&root, args.write)?;
    // Report errors before asking questions.
    let given = WebhookParts {
        defaulting: args.defaulting,
        validation: args.validation,
        conversion: args.conversion,
    };
    let target = chosen::choose(args, given, &project, &root)?.target;
    let parts = if given.any() {
        given
    } else {
        ask(args, &project, &target)?
    };
    if !parts.any() {
        output::message("nothing to do: you chose no webhook");
        return Ok(());
    }
    let (written, (notes, next_steps)) = write::apply(&root, args.write, || {
        let project = workdir::load(&root)?;
        let chosen = chosen::choose(args, parts, &project, &root)?;
        let messages = (chosen.notes(&project), chosen.next_steps());
        Ok((intent(chosen, &project), messages))
    })?;
    output::text(&notes);
    if written {
        output::text(&next_steps);
    }
    Ok(())
}

fn ask(args: &Args, project: &Project, target: &Target) -> anyhow::Result<WebhookParts> {
    const HELP: &str = "pass one or more of `--defaulting`, `--validation` and `--conversion`; `--yes` creates the first two";
    let answer = |question: &str, otherwise: bool| {
        if args.write.yes {
            Ok(otherwise)
        } else {
            prompt::yes_or_no(question, HELP)
        }
    };
    let versions = project.versions(target).count();
    Ok(WebhookParts {
        defaulting: answer("Create Defaulting Webhook", true)?,
        validation: answer("Create Validation Webhook", true)?,
        conversion: versions > 1 && answer("Create Conversion Webhook", false)?,
    })
}

/// Adds a new table to PROJECT. If nothing is new, the command repeats all tables of the kind and version.
fn intent(chosen: WebhookSelection, project: &Project) -> Intent {
    let mut intent = Intent::tables(project);
    match chosen.new {
        Some(new) => intent.add(Table::Webhook(new)),
        None => intent.again(
            |table| matches!(table, Table::Webhook(known) if known.target.matches(&chosen.target)),
        ),
    }
    intent
}
