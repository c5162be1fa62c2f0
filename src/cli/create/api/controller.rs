//! What a controller is called.

use super::Args;
use super::target::Named;
use crate::problems::Problems;
use crate::project::Project;
use crate::resource::controller::{Controller, default_names};

/// Gives the controller its name: the one that was passed, or the first of the default ones that is free or its own already.
///
/// # Errors
/// The name is not one, or another controller has it.
pub fn name(
    mut controller: Controller,
    args: &Args,
    project: &Project,
) -> anyhow::Result<Named<Controller>> {
    let is_other = |name: &str| {
        project.controllers.iter().any(|known| {
            known.name == name
                && (&known.full_group, &known.kind) != (&controller.full_group, &controller.kind)
        })
    };
    controller.name = if let Some(name) = &args.controller_name {
        name.clone()
    } else {
        let names = default_names(&controller.group, &controller.full_group, &controller.kind);
        let free = names.iter().find(|name| !is_other(name));
        free.or(names.first()).cloned().unwrap_or_default()
    };
    let mut problems = Problems::default();
    controller.check(&project.manager_id(), &mut problems);
    problems.into_result()?;
    let module = controller.module();
    let known = project
        .controllers
        .iter()
        .find(|known| known.name == controller.name || known.module() == module);
    if let Some(known) = known {
        same_controller(&controller, known)?;
    }
    Ok(Named {
        recorded: known.is_some(),
        value: controller,
    })
}

fn same_controller(wanted: &Controller, known: &Controller) -> anyhow::Result<()> {
    // Plural and scope of a kind of the project's own stand in its `[[api]]`, which may have followed the types since.
    let mut wanted = wanted.clone();
    if wanted.is_own() {
        wanted.plural.clone_from(&known.plural);
        wanted.namespaced = known.namespaced;
    }
    let wanted = &wanted;
    if wanted == known {
        return Ok(());
    }
    let mut problems = Problems::default();
    let whose = |controller: &Controller| {
        format!(
            "`{}` of `{}/{}`",
            controller.kind,
            controller.group_shown(),
            controller.version
        )
    };
    let difference = if wanted.name != known.name {
        format!("has the file of `{}`", wanted.name)
    } else if whose(wanted) != whose(known) {
        format!("is for {}, not for {}", whose(known), whose(wanted))
    } else if wanted.type_path != known.type_path {
        format!(
            "is for the type `{}`, not `{}`",
            known.type_path, wanted.type_path
        )
    } else if wanted.external_crate != known.external_crate {
        format!(
            "takes its type from `{}`, not `{}`",
            known.external_crate, wanted.external_crate
        )
    } else {
        "is for a kind with another plural or scope".to_owned()
    };
    problems.add(
        format!(
            "the controller `{}` is there already, and {difference}",
            known.name
        ),
        "pass another name with `--controller-name`, or `--controller=false`",
    );
    problems.into_result()
}
