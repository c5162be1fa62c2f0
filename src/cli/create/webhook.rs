//! `kbr create webhook`: defaults, validation, and conversion between versions.

mod chosen;
mod messages;
mod others;
#[cfg(test)]
mod tests;
mod wanted;

use std::env;

use anyhow::Context as _;

use self::chosen::WebhookSelection;
use super::super::write::{self, Intent};
use super::super::{WriteArgs, prompt};
use super::existing::KindArgs;
use crate::library;
use crate::output;
use crate::project::{Project, Table};
use crate::resource::target::Target;
use crate::workdir;

/// Add webhooks for a kind: defaulting, validation, or conversion between its versions
///
/// Without `--defaulting`, `--validation` and `--conversion`, kbr asks which to create. You can add others to the kind later.
///
/// Defaulting and validation for a kind of this project:
///
///     kbr create webhook --group crew --version v1 --kind Captain --defaulting --validation
///
/// Conversion of v1 to and from v2, the hub version:
///
///     kbr create webhook --group crew --version v2 --kind Captain --conversion --spoke v1
///
/// Defaulting for a built-in kind, only in some namespaces:
///
///     kbr create webhook --group core --version v1 --kind Pod --defaulting --namespace-selector team=deck
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    of: KindArgs,
    /// Set defaults in objects before they are stored
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    defaulting: bool,
    /// Reject invalid objects and unwanted deletions
    #[arg(long = "validation", alias = "programmatic-validation", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    validation: bool,
    /// Convert between the versions of the kind; `--version` is the hub
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    conversion: bool,
    /// Version to convert to and from the hub; repeatable [default: all others]
    #[arg(long = "spoke", value_name = "VERSION", value_delimiter = ',')]
    spokes: Vec<String>,
    /// Path of the defaulting webhook [default: /mutate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    defaulting_path: Option<String>,
    /// Path of the validating webhook [default: /validate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    validation_path: Option<String>,
    /// What to do with an object if the webhook does not answer: `Fail` rejects it, `Ignore` admits it [default: Fail]
    #[arg(long, value_name = "POLICY", ignore_case = true, value_parser = ["Fail", "Ignore"])]
    failure_policy: Option<String>,
    /// Timeout of the API server's call in seconds, 1 to 30 [default: 10]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Call the webhook only for objects in namespaces with these labels: `team=deck,tier in (front,back)`
    #[arg(long, value_name = "LABELS")]
    namespace_selector: Option<String>,
    /// Call the webhook only for objects with these labels
    #[arg(long, value_name = "LABELS")]
    object_selector: Option<String>,
    /// Call the webhook only if this CEL expression is true; repeatable
    #[arg(long = "match-condition", value_name = "NAME=CEL")]
    match_conditions: Vec<String>,
    #[command(flatten)]
    write: WriteArgs,
}

/// What to create, flags and answers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WebhookParts {
    defaulting: bool,
    validation: bool,
    conversion: bool,
}

impl WebhookParts {
    fn any(self) -> bool {
        self.defaulting || self.validation || self.conversion
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever stops it; then nothing was written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&current)?;
    write::recover(&root, args.write)?;
    let project = workdir::load(&root)?;
    library::check(workdir::library_manifest(&root)?.as_deref())?;
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
    let chosen = chosen::choose(args, parts, &project, &root)?;
    let written = write::apply(&root, args.write, || {
        let project = workdir::load(&root)?;
        Ok(intent(
            chosen::choose(args, parts, &project, &root)?,
            &project,
        ))
    })?;
    output::text(&chosen.notes(&project));
    if written {
        output::text(&chosen.next_steps());
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
            |table| matches!(table, Table::Webhook(known) if known.target.is(&chosen.target)),
        ),
    }
    intent
}
