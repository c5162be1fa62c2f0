//! `kbr create api`: a kind of the project's own, a controller, or both.

mod args;
mod controller;
mod messages;
mod own;
mod target;
#[cfg(test)]
mod tests;

use std::env;

use anyhow::Context as _;

use self::args::ApiParts;
use self::target::ApiSelection;
use super::super::prompt;
use super::super::write::{self, Intent, Planned};
use kbr_host::output;

use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::webhook::Webhook;
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
    let resource = match args.of.external_crate {
        Some(_) => Some(args.resource.unwrap_or(false)),
        None => args.resource,
    };
    // Report errors before asking questions.
    target::check(args, resource, &project, &root)?;
    let parts = ask(args, resource)?;
    if !(parts.resource || parts.controller) {
        output::message("nothing to do: you chose neither a resource nor a controller");
        return Ok(());
    }
    let (written, (notes, next_steps)) = write::apply(&root, args.write, || {
        let project = workdir::load(&root)?;
        let chosen = target::choose(args, parts, &project, &root)?;
        let messages = (chosen.notes(&project), chosen.next_steps(&project));
        Ok((intent(chosen, &project), messages))
    })?;
    output::text(&notes);
    if written {
        output::text(&next_steps);
    }
    Ok(())
}

fn ask(args: &Args, resource: Option<bool>) -> anyhow::Result<ApiParts> {
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
    Ok(ApiParts {
        resource: answer(resource, "Create Resource")?,
        controller: answer(controller, "Create Controller")?,
    })
}

fn intent(chosen: ApiSelection, project: &Project) -> Intent {
    let mut intent = Intent::tables(project);
    if let Some(Planned {
        value: api,
        recorded,
    }) = chosen.api
    {
        // Each version of a kind with a hub needs a conversion.
        let conversion = conversion(&api, project);
        if recorded {
            intent.again(|table| is_api(table, &api) || is_conversion_of(table, &api));
        } else {
            intent.add(Table::Api(api));
            if let Some(conversion) = conversion {
                intent.add(Table::Webhook(conversion));
            }
        }
    }
    if let Some(Planned {
        value: controller,
        recorded,
    }) = chosen.controller
    {
        if recorded {
            intent.again(
                |table| matches!(table, Table::Controller(known) if known.name == controller.name),
            );
        } else {
            intent.add(Table::Controller(controller));
        }
    }
    intent
}

/// The conversion of a new version of a kind, if the kind already has a hub.
fn conversion(api: &Resource, project: &Project) -> Option<Webhook> {
    let hub = project.hub(&api.full_group, &api.kind)?;
    Some(Webhook {
        spokes: vec![api.version.clone()],
        ..Webhook::new(hub.target.clone())
    })
}

fn is_api(table: &Table, api: &Resource) -> bool {
    matches!(table, Table::Api(known) if known.matches(api))
}

/// Whether the table contains only the conversion of this version.
fn is_conversion_of(table: &Table, api: &Resource) -> bool {
    let Table::Webhook(webhook) = table else {
        return false;
    };
    let (target, spokes) = (&webhook.target, &webhook.spokes);
    let of_kind = target.full_group == api.full_group && target.kind == api.kind;
    of_kind && !webhook.admits() && *spokes == [api.version.as_str()]
}
