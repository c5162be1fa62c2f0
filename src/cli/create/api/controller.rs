//! The name of a controller.

use crate::cli::write::Planned;
use kbr_host::diagnostic::Problems;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::controller::{Controller, default_names};
use kbr_scaffold::resource::target::Target;

/// The controller of `target`, with the name from the flags, or the first default name that is free or already its own.
///
/// # Errors
/// The name is invalid, or another controller has it.
pub fn name(
    target: Target,
    chosen: Option<&str>,
    project: &Project,
) -> anyhow::Result<Planned<Controller>> {
    let is_other = |name: &str| {
        project
            .controllers()
            .any(|known| known.name == name && !known.target.is_version_of(&target))
    };
    let name = if let Some(name) = chosen {
        name.to_owned()
    } else {
        let names = default_names(&target.group, &target.full_group, &target.kind);
        let free = names.iter().find(|name| !is_other(name));
        free.or(names.first()).cloned().unwrap_or_default()
    };
    let controller = Controller::new(name, target);
    let mut problems = Problems::default();
    controller.check(&project.manager_id(), &mut problems);
    problems.into_result()?;
    let module = controller.module();
    let known = project
        .controllers()
        .find(|known| known.name == controller.name || known.module() == module);
    if let Some(known) = known {
        same_controller(&controller, known)?;
    }
    Ok(Planned {
        recorded: known.is_some(),
        value: controller,
    })
}

fn same_controller(wanted: &Controller, known: &Controller) -> anyhow::Result<()> {
    // The plural and scope of an own kind are those of its `[[api]]`, which may have been updated to match the types.
    let mut wanted = wanted.clone();
    wanted
        .target
        .dependency
        .clone_from(&known.target.dependency);
    if wanted.target.is_own() {
        wanted.target.plural.clone_from(&known.target.plural);
        wanted.target.namespaced = known.target.namespaced;
    }
    if &wanted == known {
        return Ok(());
    }
    let mut problems = Problems::default();
    let whose = |target: &Target| {
        format!(
            "`{}` of `{}/{}`",
            target.kind,
            target.group_shown(),
            target.version
        )
    };
    let (there, here) = (&known.target, &wanted.target);
    let difference = if wanted.name != known.name {
        format!("uses the file of `{}`", wanted.name)
    } else if whose(here) != whose(there) {
        format!("is for {}, not for {}", whose(there), whose(here))
    } else if here.type_path != there.type_path {
        format!(
            "is for the type `{}`, not `{}`",
            there.type_path, here.type_path
        )
    } else if here.external_crate != there.external_crate {
        format!(
            "takes its type from `{}`, not `{}`",
            there.external_crate, here.external_crate
        )
    } else {
        "is for a kind with another plural or scope".to_owned()
    };
    problems.add(
        format!(
            "the controller `{}` already exists and {difference}",
            known.name
        ),
        "pass another name with `--controller-name`, or `--controller=false`",
    );
    problems.into_result()
}
