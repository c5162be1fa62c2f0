//! `kbr create api`: a kind of the project's own, a controller, or both.

mod controller;
mod own;
mod talk;
mod target;
#[cfg(test)]
mod tests;

use std::env;

use anyhow::Context as _;

use self::target::{Chosen, Named};
use super::super::write::{self, Plan};
use super::super::{WriteArgs, prompt};
use super::conversion::Spoke;
use super::existing::KindArgs;
use super::owned;
use crate::changes::Existing;
use crate::project::{self, Project};
use crate::scaffold;

/// Add a kind with its types, a controller for a kind, or both
///
/// Without `--resource` or `--controller` kbr asks for what to create. The same command again brings back what is missing.
///
/// A kind of the project's own:
///
///     kbr create api --group crew --version v1 --kind Captain
///
/// A controller for a kind of Kubernetes, and for one of another crate:
///
///     kbr create api --group apps --version v1 --kind Deployment --resource=false --controller
///     kbr create api --group cert-manager.io --version v1 --kind Certificate --controller \
///         --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    of: KindArgs,
    /// Singular, small letters [default: the kind]
    #[arg(long)]
    singular: Option<String>,
    /// Short name for kubectl; may be given several times
    #[arg(long = "short-name", value_name = "NAME", value_delimiter = ',')]
    short_names: Vec<String>,
    /// Whether objects live in namespaces [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    namespaced: Option<bool>,
    /// Create the kind: its types, CRD, sample and roles
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    resource: Option<bool>,
    /// Create a controller
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    controller: Option<bool>,
    /// Name of the controller, for several of one kind [default: the kind]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<String>,
    #[command(flatten)]
    write: WriteArgs,
}

/// What to create, flags and answers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    resource: bool,
    controller: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever stops it; then nothing was written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let current = env::current_dir().context("cannot find the current folder")?;
    let root = project::find_root(&current)?;
    write::settle(&root, args.write)?;
    let project = Project::load(&root)?;
    let resource = match args.of.external_crate {
        Some(_) => Some(args.resource.unwrap_or(false)),
        None => args.resource,
    };
    // Everything that can be wrong is said before anything is asked.
    target::check(args, resource, &project, &root)?;
    let parts = ask(args, resource)?;
    if !(parts.resource || parts.controller) {
        eprintln!("nothing to do: neither a resource nor a controller is wanted");
        return Ok(());
    }
    let chosen = target::choose(args, parts, &project, &root)?;
    let written = write::carry_out(&root, args.write, || {
        let project = Project::load(&root)?;
        plan(
            &target::choose(args, parts, &project, &root)?,
            &project,
            args.write.force,
        )
    })?;
    eprint!("{}", chosen.notes(&project));
    if written {
        eprint!("{}", chosen.next_steps(&project));
    }
    Ok(())
}

fn ask(args: &Args, resource: Option<bool>) -> anyhow::Result<Parts> {
    const HELP: &str = "pass `--resource` or `--resource=false`, and `--controller` or `--controller=false`; `--yes` creates both";
    let answer = |flag: Option<bool>, question: &str| match flag {
        Some(flag) => Ok(flag),
        None if args.write.yes => Ok(true),
        None => prompt::yes_or_no(question, HELP),
    };
    let controller = match args.controller_name {
        Some(_) => args.controller.or(Some(true)),
        None => args.controller,
    };
    Ok(Parts {
        resource: answer(resource, "Create Resource")?,
        controller: answer(controller, "Create Controller")?,
    })
}

fn plan(chosen: &Chosen, project: &Project, force: bool) -> anyhow::Result<Plan> {
    let mut ops = Vec::new();
    let mut new = false;
    if let Some(Named { value, recorded }) = &chosen.api {
        let mut vars = project.vars();
        value.fill(&mut vars, project.is_storage(value));
        ops.extend(owned(scaffold::render("api", &vars)?, *recorded && !force));
        if !recorded {
            new = true;
            ops.push(project::record_api(value)?);
            // Once a kind has a hub, each of its versions is converted.
            if let Some(spoke) = Spoke::of_new(value, project) {
                ops.extend(spoke.plan(&project.vars(), force)?);
                ops.push(project::record_webhook(&spoke.table())?);
            }
        }
    }
    if let Some(Named { value, recorded }) = &chosen.controller {
        let mut vars = project.vars();
        value.fill(&mut vars);
        if let Some(added) = &chosen.added {
            vars.external_dependency.clone_from(&added.line);
        }
        ops.extend(owned(
            scaffold::render("controller", &vars)?,
            *recorded && !force,
        ));
        if !recorded {
            new = true;
            ops.push(project::record_controller(value)?);
        }
    }
    let existing = match (force, new) {
        (true, _) => Existing::Force,
        (false, true) => Existing::Refuse,
        (false, false) => Existing::Keep,
    };
    Ok(Plan { ops, existing })
}
