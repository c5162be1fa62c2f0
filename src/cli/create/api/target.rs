//! Which kind and which controller the flags of `kbr create api` mean, in the project as it is.

use std::path::Path;

use super::{Args, Parts, controller, existing, own};
use crate::problems::Problems;
use crate::project::Project;
use crate::resource::Resource;
use crate::resource::controller::Controller;

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

/// A crate that the manifest does not have yet.
#[derive(Debug)]
pub struct Added {
    /// Line for the manifest: `gateway-api = "0.20"`.
    pub line: String,
    /// Its folder, seen from the project, if it is in one.
    pub folder: Option<String>,
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
        let controller = match &chosen.api {
            Some(api) => Controller::own(String::new(), &api.value),
            None => existing::find(args, project, root, &mut chosen.added)?,
        };
        chosen.controller = Some(controller::name(controller, args, project)?);
    }
    Ok(chosen)
}

/// Flags that do not go together.
fn check_flags(args: &Args, parts: Parts) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    if args.external_crate.is_some() && parts.resource {
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
    problems.into_result()
}
