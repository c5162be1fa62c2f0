//! A kind that is there already, for a controller: in the project, in another crate, or in Kubernetes.

use std::fmt::Write as _;
use std::path::Path;

use super::Args;
use super::target::Added;
use crate::problems::Problems;
use crate::project::Project;
use crate::resource::controller::Controller;
use crate::resource::external::{Dependencies, External};
use crate::resource::{Resource, Wanted, groups, kubernetes};

/// A controller, without its name, for the kind that the flags mean; `added` becomes what its crate adds to the manifest.
///
/// # Errors
/// There is no such kind: with the nearest ones, never a controller that watches nothing.
pub fn find(
    args: &Args,
    project: &Project,
    root: &Path,
    added: &mut Option<Added>,
) -> anyhow::Result<Controller> {
    if let Some((krate, type_path)) = args
        .external_crate
        .as_ref()
        .zip(args.external_type.as_ref())
    {
        let external = External::new(root, krate, type_path)?;
        let line = external.missing_dependency(&Dependencies::read(root))?;
        *added = line.map(|line| Added {
            line,
            folder: external.folder().map(str::to_owned),
        });
        return foreign(args, krate, type_path);
    }
    let known = project.apis.iter().find(|api| is_meant(api, args, project));
    if let Some(api) = known {
        check_known(args, &api.plural, api.namespaced)?;
        return Ok(Controller::own(String::new(), api));
    }
    let (_, whole) = groups(&args.group, args.domain.as_deref().unwrap_or_default());
    let found = kubernetes::find(&args.group, &args.version, &args.kind)
        .or_else(|| kubernetes::find(&whole, &args.version, &args.kind));
    let Some(kind) = found else {
        return Err(unknown(args, project));
    };
    check_known(args, kind.plural, kind.namespaced)?;
    Ok(Controller::kubernetes(String::new(), &kind))
}

/// Whether the flags mean this kind of the project's: by its whole group, or by the word for it.
fn is_meant(api: &Resource, args: &Args, project: &Project) -> bool {
    let domain = args.domain.as_ref().unwrap_or(&project.domain);
    let (_, full_group) = groups(&args.group, domain);
    let by_word = args.domain.is_none() && [&api.group, &api.full_group].contains(&&args.group);
    api.kind == args.kind
        && api.version == args.version
        && (api.full_group == full_group || by_word)
}

/// A kind that is there has its names and scope.
fn check_known(args: &Args, plural: &str, namespaced: bool) -> anyhow::Result<()> {
    let mut problems = Problems::default();
    let mut differs = |flag: &str, differs: bool| {
        if differs {
            problems.add(
                format!(
                    "`--{flag}` cannot change `{}`, which is there already",
                    args.kind
                ),
                format!("leave `--{flag}` out"),
            );
        }
    };
    let other = |flag: &Option<String>| flag.as_ref().is_some_and(|flag| flag != plural);
    differs("plural", other(&args.plural));
    differs(
        "namespaced",
        args.namespaced.is_some_and(|flag| flag != namespaced),
    );
    differs("singular", args.singular.is_some());
    differs("short-name", !args.short_names.is_empty());
    problems.into_result()
}

/// A kind of another crate. Its group is as it is: the project's domain is for kinds of the project's own.
fn foreign(args: &Args, krate: &str, type_path: &str) -> anyhow::Result<Controller> {
    let wanted = Wanted {
        group: args.group.clone(),
        domain: args.domain.clone().unwrap_or_default(),
        version: args.version.clone(),
        kind: args.kind.clone(),
        plural: args.plural.clone(),
        namespaced: args.namespaced.unwrap_or(true),
        ..Wanted::default()
    };
    let mut problems = Problems::default();
    for (flag, given) in [
        ("singular", args.singular.is_some()),
        ("short-name", !args.short_names.is_empty()),
    ] {
        if given {
            problems.add(
                format!("`--{flag}` is for kinds of the project's own"),
                format!("leave `--{flag}` out"),
            );
        }
    }
    problems.into_result()?;
    let resource = Resource::foreign(&wanted)?;
    let mut controller = Controller::own(String::new(), &resource);
    type_path.clone_into(&mut controller.type_path);
    krate.clone_into(&mut controller.external_crate);
    Ok(controller)
}

fn unknown(args: &Args, project: &Project) -> anyhow::Error {
    let own = |api: &Resource| {
        let near = strsim::damerau_levenshtein(&api.kind_lower(), &args.kind.to_lowercase()) <= 2;
        near.then(|| {
            format!(
                "--group {} --version {} --kind {}",
                api.group, api.version, api.kind
            )
        })
    };
    let mut near: Vec<String> = project.apis.iter().filter_map(own).collect();
    near.extend(kubernetes::nearest(&args.group, &args.version, &args.kind));
    let group = if args.group.is_empty() {
        "core"
    } else {
        &args.group
    };
    let mut text = format!(
        "there is no kind `{}` in `{}/{}`, neither in this project nor in Kubernetes 1.36; nothing was written",
        args.kind, group, args.version
    );
    for flags in near {
        let _ = write!(text, "\nhelp: did you mean `{flags}`?");
    }
    text += "\nhelp: for a kind of another crate, pass `--external-crate` and `--external-type`";
    text += "\nhelp: for a new kind of this project, pass `--resource`";
    anyhow::Error::msg(text)
}
