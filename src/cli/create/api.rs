//! `kbr create api`: a kind of the project's own, a controller, or both.

mod args;
pub mod controller;
pub mod from_crd;
mod messages;
mod own;
mod selected;
mod target;
#[cfg(test)]
mod tests;

use self::args::ApiParts;
use self::target::ApiSelection;
use super::super::prompt;
use super::super::write::{self, Intent, Plan, Planned};
use std::path::Path;

use anyhow::Context as _;
use kbr_host::{output, regular};
use kbr_scaffold::existing;
use kbr_scaffold::golang::carried;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::webhook::Webhook;

pub use self::args::Args;

/// Plans the command.
///
/// # Errors
/// All problems of the flags, or all conflicts.
pub fn plan(args: &Args) -> anyhow::Result<Option<Plan>> {
    if let Some(path) = &args.from_crd {
        return from_crd::plan(args, path);
    }
    let parts = ask(args)?;
    let (session, project) = write::open(args.write)?;
    let chosen = target::choose(args, parts, &project, session.root())?;
    if !(parts.resource || parts.controller) {
        output::message("nothing to do: you chose neither a resource nor a controller");
        return Ok(None);
    }
    let (notes, next_steps) = (chosen.notes(&project), chosen.next_steps(&project));
    let go = args.from_go.as_deref().map(go).transpose()?;
    let intent = intent(chosen, go, &project);
    session.plan(&intent, notes, next_steps).map(Some)
}

/// What to create, from the flags or from the user. Errors that no answer avoids are reported before the questions.
fn ask(args: &Args) -> anyhow::Result<ApiParts> {
    const HELP: &str = "pass `--resource` or `--resource=false`, and `--controller` or `--controller=false`; `--yes` creates both";
    let (resource, controller) = args.parts();
    if let (Some(resource), Some(controller)) = (resource, controller)
        && args.selects()
    {
        return Ok(ApiParts {
            resource,
            controller,
        });
    }
    let (root, project) = write::peek(args.write)?;
    let least = ApiParts {
        resource: resource != Some(false),
        controller: controller.unwrap_or(resource == Some(false)),
    };
    target::choose(args, least, &project, &root)?;
    let is_built_in = !args.selects() && existing::is_built_in(args.of.kind.named(), &project);
    if !args.selects() {
        target::check_unspecified(args, is_built_in, &project)?;
    }
    let answer = |flag: Option<bool>, question: &str, default: bool| {
        flag.map_or_else(|| prompt::yes_or_no(question, default, HELP), Ok)
    };
    Ok(ApiParts {
        resource: answer(resource, "Create Resource", !is_built_in)?,
        controller: answer(controller, "Create Controller", true)?,
    })
}

/// The path of a Go file, as it is shown, and its text.
fn go(path: &Path) -> anyhow::Result<(String, String)> {
    let shown = path.display().to_string();
    let text = regular::followed(path).with_context(|| format!("cannot read `{shown}`"))?;
    Ok((shown, text))
}

fn intent(chosen: ApiSelection, go: Option<(String, String)>, project: &Project) -> Intent {
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
            if let Some((path, text)) = go {
                let source = carried::reconciler_source(&controller, &path, &text);
                intent.edit([source]);
            }
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
