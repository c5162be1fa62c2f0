//! The kind and the controller that the flags of `kbr create api` select in the existing project.

use std::path::Path;

use super::super::super::prompt;
use super::args::{ApiParts, Args};
use super::{controller, own};
use crate::cli::write::Planned;
use kbr_host::diagnostic::{Diagnostic, Problems};
use kbr_scaffold::existing::{self, Added, Found};
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{Resource, groups};

/// The tables that the command creates.
#[derive(Debug)]
pub struct ApiSelection {
    pub api: Option<Planned<Resource>>,
    pub controller: Option<Planned<Controller>>,
    pub added: Option<Added>,
}

/// Checks a command that leaves open whether to create the kind: the group and the kind may mean one that exists elsewhere.
///
/// # Errors
/// Nobody is there to answer, and the kind is built-in, or its group is not one of the project's.
pub fn check_unspecified(args: &Args, is_built_in: bool, project: &Project) -> anyhow::Result<()> {
    let kind = &args.of.kind;
    let domain = kind.domain.as_ref().unwrap_or(&project.head.domain);
    let (_, full_group) = groups(&kind.group, domain);
    let (group, version, name) = (&kind.group, &kind.version, &kind.kind);
    let new = format!("to create a kind of your own in `{full_group}`, pass `--resource`");
    if is_built_in && args.write.yes {
        let text = format!("`{name}` of `{group}/{version}` is a built-in kind");
        let help = format!(
            "for a controller: `kbr create api --group {group} --version {version} --kind {name} --resource=false --controller`"
        );
        return Err(Diagnostic::new(text).help(help).help(new).into());
    }
    let is_foreign = group.contains('.') && full_group != *group;
    let is_known = project.targets().any(|it| kind.select(it, project));
    if is_foreign
        && !is_built_in
        && !is_known
        && args.controller == Some(true)
        && !prompt::is_terminal()
    {
        let text = format!("no kind `{name}` found in `{group}/{version}`");
        let help = "for an external kind, pass `--external-crate` and `--external-type`";
        return Err(Diagnostic::new(text).help(help).help(new).into());
    }
    Ok(())
}

/// Resolves `parts` in the project.
///
/// # Errors
/// All problems of the flags.
pub fn choose(
    args: &Args,
    parts: ApiParts,
    project: &Project,
    root: &Path,
) -> anyhow::Result<ApiSelection> {
    check_flags(args, parts)?;
    let mut chosen = ApiSelection {
        api: None,
        controller: None,
        added: None,
    };
    if parts.resource {
        chosen.api = Some(own::find(&args.of, &args.new, project)?);
    }
    if parts.controller {
        let target = if let Some(api) = &chosen.api {
            Target::own(&api.value)
        } else {
            let wanted = args.of.wanted(args.new.namespaced);
            let Found { target, added } = existing::find(&wanted, project, root)?;
            chosen.added = added;
            target
        };
        chosen.controller = Some(controller::name(
            target,
            args.controller_name.as_deref(),
            project,
        )?);
    }
    Ok(chosen)
}

/// Flags that contradict each other.
fn check_flags(args: &Args, parts: ApiParts) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    if args.of.external_crate.is_some() && parts.resource {
        problems.add(
            "`--external-crate` selects an external kind, and `--resource` creates a new kind",
            "leave `--resource` out",
        );
    }
    if args.controller_name.is_some() && args.controller == Some(false) {
        problems.add(
            "`--controller-name` has no effect with `--controller=false`",
            "leave one of them out",
        );
    }
    if args.from_go.is_some() && args.controller == Some(false) {
        problems.add(
            "`--from-go` has no effect with `--controller=false`",
            "leave one of them out",
        );
    }
    for (flag, passed) in args.new.passed() {
        if passed && !parts.resource {
            problems.add(
                format!("`--{flag}` has no effect without a new kind"),
                format!("leave `--{flag}` out"),
            );
        }
    }
    problems.into_result()
}
