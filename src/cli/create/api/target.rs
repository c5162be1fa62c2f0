//! Which kind and which controller the flags of `kbr create api` mean, in the project as it is.

use std::path::Path;

use super::super::existing::{self, Added};
use super::{Args, Parts, controller, own};
use crate::diagnostic::Problems;
use crate::project::Project;
use crate::resource::Resource;
use crate::resource::controller::Controller;
use crate::resource::target::Target;

/// Something to create, and whether PROJECT has it already.
#[derive(Debug)]
pub struct Named<T> {
    pub value: T,
    pub recorded: bool,
}

/// What the command creates.
#[derive(Debug)]
pub struct Chosen {
    pub api: Option<Named<Resource>>,
    pub controller: Option<Named<Controller>>,
    pub added: Option<Added>,
}

/// Says everything that is wrong before questions are asked: as far as it does not depend on the answers.
///
/// # Errors
/// All of it.
pub fn check(
    args: &Args,
    resource: Option<bool>,
    project: &Project,
    root: &Path,
) -> anyhow::Result<()> {
    let parts = Parts {
        resource: resource != Some(false),
        controller: args
            .controller
            .unwrap_or(resource == Some(false) || args.controller_name.is_some()),
    };
    choose(args, parts, project, root).map(drop)
}

/// Finds what `parts` are.
///
/// # Errors
/// Everything that is wrong with it.
pub fn choose(args: &Args, parts: Parts, project: &Project, root: &Path) -> anyhow::Result<Chosen> {
    check_flags(args, parts)?;
    let mut chosen = Chosen {
        api: None,
        controller: None,
        added: None,
    };
    if parts.resource {
        chosen.api = Some(own::find(args, project)?);
    }
    if parts.controller {
        let target = match &chosen.api {
            Some(api) => Target::own(&api.value),
            None => existing::find(&args.of, args.namespaced, project, root, &mut chosen.added)?,
        };
        chosen.controller = Some(controller::name(target, args, project)?);
    }
    Ok(chosen)
}

/// Flags that do not go together.
fn check_flags(args: &Args, parts: Parts) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    if args.of.external_crate.is_some() && parts.resource {
        problems.add(
            "`--external-crate` is for a kind that another crate defines, and `--resource` defines one here",
            "leave `--resource` out",
        );
    }
    if args.controller_name.is_some() && args.controller == Some(false) {
        problems.add(
            "`--controller-name` names a controller, and `--controller=false` wants none",
            "leave one of them out",
        );
    }
    let of_new_kinds = [
        ("singular", args.singular.is_some()),
        ("short-name", !args.short_names.is_empty()),
    ];
    for (flag, given) in of_new_kinds {
        if given && !parts.resource {
            problems.add(
                format!("`--{flag}` is for a new kind of the project's own, and this creates none"),
                format!("leave `--{flag}` out"),
            );
        }
    }
    problems.into_result()
}
