//! `kbr create webhook`: defaults, validation, and conversion between versions.

mod args;
mod chosen;
mod messages;
mod others;
#[cfg(test)]
mod tests;
mod wanted;

use self::args::WebhookParts;
use self::chosen::WebhookSelection;
use super::super::prompt;
use super::super::write::{self, Intent, Plan};
use kbr_host::output;
use kbr_scaffold::project::{Project, Table};

pub use self::args::Args;

/// Plans the command.
///
/// # Errors
/// All problems of the flags, or all conflicts.
pub fn plan(args: &Args) -> anyhow::Result<Option<Plan>> {
    let parts = ask(args)?;
    let (session, project) = write::open(args.write)?;
    let chosen = chosen::choose(args, parts, &project, session.root())?;
    if !parts.any() {
        output::message("nothing to do: you chose no webhook");
        return Ok(None);
    }
    let (notes, next_steps) = (chosen.notes(&project), chosen.next_steps());
    let intent = intent(chosen, &project);
    session.plan(&intent, notes, next_steps).map(Some)
}

/// What to create, from the flags or from the user. Errors that no answer avoids are reported before the questions.
fn ask(args: &Args) -> anyhow::Result<WebhookParts> {
    const HELP: &str = "pass one or more of `--defaulting`, `--validation` and `--conversion`; `--yes` creates the first two";
    let given = args.parts();
    if given.any() {
        return Ok(given);
    }
    let (root, project) = write::peek(args.write)?;
    let target = chosen::choose(args, given, &project, &root)?.target;
    let ask = |question: &str, default: bool| prompt::yes_or_no(question, default, HELP);
    Ok(WebhookParts {
        defaulting: ask("Create Defaulting Webhook", true)?,
        validation: ask("Create Validation Webhook", true)?,
        conversion: project.versions(&target).count() > 1
            && ask("Create Conversion Webhook", false)?,
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
