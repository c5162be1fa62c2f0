//! What `kbr create webhook` creates, in the project as it is.

use std::path::Path;

use super::super::conversion::Spoke;
use super::super::existing::{self, Added};
use super::{Args, Parts, others, wanted};
use crate::project::Project;
use crate::resource::target::Target;
use crate::resource::webhook::{Calls, Webhook};
use crate::vars::Vars;

/// What the command creates.
#[derive(Debug)]
pub struct Chosen {
    /// The kind.
    pub target: Target,
    /// The tables that PROJECT has for the kind and version.
    known: Vec<Webhook>,
    /// The table for PROJECT, if anything is new.
    pub new: Option<Webhook>,
    /// The versions that get a conversion.
    pub spokes: Vec<Spoke>,
    /// What the kind's crate adds to the manifest.
    pub added: Option<Added>,
    /// Whether the kind's file is written whole, rather than gets what is new.
    whole: bool,
}

/// Finds what `parts` are.
///
/// # Errors
/// Everything that is wrong with it.
pub fn choose(args: &Args, parts: Parts, project: &Project, root: &Path) -> anyhow::Result<Chosen> {
    let mut added = None;
    let target = existing::find(&args.of, None, project, root, &mut added)?;
    let wanted = wanted::webhook(args, parts, project, &target)?;
    let of_kind = project
        .webhooks
        .iter()
        .filter(|known| known.target.is(&target));
    let known: Vec<Webhook> = of_kind.cloned().collect();
    others::check(&wanted, &known, project)?;
    let new = new(&wanted, &known);
    let whole = args.write.force || !root.join(wanted.path()).is_file();
    Ok(Chosen {
        spokes: spokes(&target, &known, new.as_ref(), project),
        target,
        known,
        new,
        added,
        whole,
    })
}

/// What of `wanted` is not in `known`.
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
) -> Vec<Spoke> {
    let find = |version: &str| {
        let mut versions = project.versions(target);
        versions.find(|api| api.version == version)
    };
    let spoke = |version: &String, recorded| {
        Some(Spoke {
            resource: find(version)?.clone(),
            hub: target.clone(),
            recorded,
        })
    };
    let known = known.iter().flat_map(|table| &table.spokes);
    let new = new.iter().flat_map(|table| &table.spokes);
    known
        .filter_map(|version| spoke(version, true))
        .chain(new.filter_map(|version| spoke(version, false)))
        .collect()
}

impl Chosen {
    /// Whether PROJECT has a webhook for the kind already: then its file is the user's.
    pub fn is_recorded(&self) -> bool {
        !self.known.is_empty()
    }

    /// Fills in what templates may use: of what is new, or of everything where the file is written whole. The command again is about
    /// everything too; but what was created before, and has another name by now or is gone, does not come back with something new.
    pub fn fill(&self, vars: &mut Vars) {
        Webhook::new(self.target.clone()).fill(vars);
        let only_new = self.new.is_some() && !self.whole;
        let known = self.known.iter().filter(|_| !only_new);
        for table in known.chain(&self.new) {
            table.fill_calls(vars);
        }
    }

    /// Those that PROJECT has in the end.
    pub fn tables(&self) -> impl Iterator<Item = &Webhook> {
        self.known.iter().chain(&self.new)
    }
}
