//! `kbr create webhook`: defaults, validation, and conversion between versions.

mod chosen;
mod others;
mod talk;
#[cfg(test)]
mod tests;
mod wanted;

use std::env;

use anyhow::Context as _;

use self::chosen::Chosen;
use super::super::write::{self, Intent};
use super::super::{WriteArgs, prompt};
use super::existing::KindArgs;
use crate::library;
use crate::output;
use crate::project::{Project, Table};
use crate::resource::target::Target;
use crate::workdir;

/// Add webhooks for a kind: defaults, validation, or conversion between its versions
///
/// Without `--defaulting`, `--validation` and `--conversion` kbr asks which. A kind may get one of them now and another later.
///
/// A kind of the project's own, with what the API server is to call for each object:
///
///     kbr create webhook --group crew --version v1 --kind Captain --defaulting --validation
///
/// Version v2 as the hub, to and from which v1 is converted:
///
///     kbr create webhook --group crew --version v2 --kind Captain --conversion --spoke v1
///
/// A kind of Kubernetes, in some namespaces only:
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
    /// Refuse objects that are wrong, and deletions that must not be
    #[arg(long = "validation", alias = "programmatic-validation", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    validation: bool,
    /// Convert between the versions of the kind; `--version` is the hub
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    conversion: bool,
    /// Version to convert to and from the hub; may be given several times [default: all others]
    #[arg(long = "spoke", value_name = "VERSION", value_delimiter = ',')]
    spokes: Vec<String>,
    /// Path at which defaults are served [default: /mutate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    defaulting_path: Option<String>,
    /// Path at which validation is served [default: /validate-<group>-<version>-<kind>]
    #[arg(long, value_name = "PATH")]
    validation_path: Option<String>,
    /// What becomes of an object when the webhook does not answer: `Fail` refuses it, `Ignore` admits it [default: Fail]
    #[arg(long, value_name = "POLICY", ignore_case = true, value_parser = ["Fail", "Ignore"])]
    failure_policy: Option<String>,
    /// How long the API server waits for an answer, 1 to 30 [default: 10]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Namespaces whose objects the webhook is called for: `team=deck,tier in (front,back)`
    #[arg(long, value_name = "LABELS")]
    namespace_selector: Option<String>,
    /// Objects that the webhook is called for, by their labels
    #[arg(long, value_name = "LABELS")]
    object_selector: Option<String>,
    /// Condition in CEL under which the webhook is called; may be given several times
    #[arg(long = "match-condition", value_name = "NAME=CEL")]
    match_conditions: Vec<String>,
    #[command(flatten)]
    write: WriteArgs,
}

/// What to create, flags and answers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    defaulting: bool,
    validation: bool,
    conversion: bool,
}

impl Parts {
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
    write::settle(&root, args.write)?;
    let project = workdir::load(&root)?;
    library::check(workdir::library_manifest(&root)?.as_deref())?;
    // Everything that can be wrong is said before anything is asked.
    let given = Parts {
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
        output::message("nothing to do: no kind of webhook is wanted");
        return Ok(());
    }
    let chosen = chosen::choose(args, parts, &project, &root)?;
    let written = write::carry_out(&root, args.write, || {
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

fn ask(args: &Args, project: &Project, target: &Target) -> anyhow::Result<Parts> {
    const HELP: &str = "pass one or more of `--defaulting`, `--validation` and `--conversion`; `--yes` creates the first two";
    let answer = |question: &str, otherwise: bool| {
        if args.write.yes {
            Ok(otherwise)
        } else {
            prompt::yes_or_no(question, HELP)
        }
    };
    let versions = project.versions(target).count();
    Ok(Parts {
        defaulting: answer("Create Defaulting Webhook", true)?,
        validation: answer("Create Validation Webhook", true)?,
        conversion: versions > 1 && answer("Create Conversion Webhook", false)?,
    })
}

/// What is new goes into PROJECT; if nothing is, the command is about all tables of the kind and version again.
fn intent(chosen: Chosen, project: &Project) -> Intent {
    let mut intent = Intent::tables(project);
    match chosen.new {
        Some(new) => intent.add(Table::Webhook(new)),
        None => intent.again(
            |table| matches!(table, Table::Webhook(known) if known.target.is(&chosen.target)),
        ),
    }
    intent
}
