//! Resolves what `kbr create webhook` creates in the existing project.

use std::path::Path;

use super::args::{Args, WebhookParts};
use super::{others, wanted};
use kbr_scaffold::existing::{self, Added, Found};
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::webhook::{Calls, Webhook};

/// The webhooks that the command creates.
#[derive(Debug)]
pub struct WebhookSelection {
    /// The kind.
    pub target: Target,
    /// The tables that PROJECT has for the kind and version.
    known: Vec<Webhook>,
    /// The table for PROJECT, if anything is new.
    pub new: Option<Webhook>,
    /// The versions that are converted.
    pub spokes: Vec<Resource>,
    /// The kind's crate, if it is new to the manifest.
    pub added: Option<Added>,
}

/// Resolves `parts` in the project.
///
/// # Errors
/// All problems of the flags.
pub fn choose(
    args: &Args,
    parts: WebhookParts,
    project: &Project,
    root: &Path,
) -> anyhow::Result<WebhookSelection> {
    let Found { target, added } = existing::find(&args.of.wanted(None), project, root)?;
    let wanted = wanted::webhook(args, parts, project, &target)?;
    let of_kind = project
        .webhooks()
        .filter(|known| known.target.matches(&target));
    let known: Vec<Webhook> = of_kind.cloned().collect();
    others::check(&wanted, &known, project)?;
    let new = new(&wanted, &known);
    Ok(WebhookSelection {
        spokes: spokes(&target, &known, new.as_ref(), project),
        target,
        known,
        new,
        added,
    })
}

/// The part of `wanted` that `known` lacks.
fn new(wanted: &Webhook, known: &[Webhook]) -> Option<Webhook> {
    let mut new = wanted.clone();
    for table in known {
        if !table.defaulting.is_empty() {
            new.defaulting.clear();
        }
        if !table.validation.is_empty() {
            new.validation.clear();
        }
        new.spokes.retain(|spoke| !table.spokes.contains(spoke));
    }
    if !new.admits() {
        new.calls = Calls::default();
    }
    (new.admits() || !new.spokes.is_empty()).then_some(new)
}

fn spokes(
    target: &Target,
    known: &[Webhook],
    new: Option<&Webhook>,
    project: &Project,
) -> Vec<Resource> {
    let find = |version: &String| {
        let mut versions = project.versions(target);
        versions.find(|api| api.version == *version).cloned()
    };
    let tables = known.iter().chain(new);
    tables
        .flat_map(|table| &table.spokes)
        .filter_map(find)
        .collect()
}

impl WebhookSelection {
    /// The tables that PROJECT has after the command.
    pub fn tables(&self) -> impl Iterator<Item = &Webhook> {
        self.known.iter().chain(&self.new)
    }
}
