//! `kbr create api --from-crd`: the types of a kind from its definition.

mod again;
mod external;
mod types_crate;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use self::types_crate::TypesCrate;
use super::args::Args;
use super::controller;
use crate::cli::prompt;
use crate::cli::write::{self, Intent, Plan, Planned, Session};
use kbr_host::diagnostic::{Diagnostic, Problems};
use kbr_host::lines::Lines;
use kbr_host::{output, regular};
use kbr_scaffold::changes::Change;
use kbr_scaffold::existing::{self, Found, Wanted};
use kbr_scaffold::imported::{self, Definition, Kept, Types};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{ApiFlags, Resource};

/// Plans the command for the definition at `path`; `-` is the standard input.
///
/// # Errors
/// The file has no definition, its kind cannot belong to the project, or what would be written conflicts with what exists.
pub fn plan(args: &Args, path: &Path) -> anyhow::Result<Option<Plan>> {
    check_flags(args)?;
    let kind = Some(args.of.kind.kind.as_str()).filter(|kind| !kind.is_empty());
    let definition = imported::read(&text(path)?, kind)?;
    let krate = args.of.external_crate.as_deref();
    let types_crate = if args.external {
        Some(TypesCrate::of(krate)?)
    } else {
        None
    };
    let with_controller = with_controller(args)?;
    let (session, project) = write::open(args.write)?;
    if let Some(krate) = &types_crate {
        return external(krate, args, &definition, with_controller, session, &project).map(Some);
    }
    if krate.is_some() {
        return elsewhere(args, &definition, with_controller, session, &project);
    }
    own(args, &definition, with_controller, session, &project).map(Some)
}

/// Plans the kind as one of the project's own.
///
/// # Errors
/// As [`plan`].
pub fn own(
    args: &Args,
    definition: &Definition,
    with_controller: bool,
    session: Session,
    project: &Project,
) -> anyhow::Result<Plan> {
    let known = known(definition, project);
    if !known.is_empty() {
        return again::plan(definition, &known, session, project);
    }
    let apis = apis(definition, project)?;
    let types = definition.types();
    let mut intent = Intent::tables(project);
    for api in &apis {
        intent.add(Table::Api(api.clone()));
        if let Some(types) = types.iter().find(|types| types.version == api.version) {
            intent.add_file(api.path(), types.text.clone());
        }
    }
    let controller = match apis.first().filter(|_| with_controller) {
        Some(stored) => Some(add_controller(
            Target::own(stored),
            args,
            project,
            &mut intent,
        )?),
        None => None,
    };
    let notes = notes(definition, &types);
    let source = again::source("api", definition, &session)?;
    let mut plan = session.plan(&intent, notes, next_steps(&apis, controller.as_ref()))?;
    plan.changes.extend(source);
    Ok(plan)
}

/// Plans the types of a kind that another operator owns, and a controller for it.
///
/// # Errors
/// As [`plan`].
pub fn external(
    krate: &TypesCrate,
    args: &Args,
    definition: &Definition,
    with_controller: bool,
    session: Session,
    project: &Project,
) -> anyhow::Result<Plan> {
    let apis = versions(definition, project)?;
    let (files, mut text) = external::files(krate, &apis, definition, &session, project)?;
    let mut intent = Intent::tables(project);
    let mut next = Lines::from("next:\n  make test\n");
    if let Some(stored) = apis.first() {
        let (target, added) = external::target(krate, stored, definition, &session, project)?;
        let flags = format!(
            "--external-crate {} --external-type {}",
            target.external_crate, target.type_path
        );
        text.add(format_args!(
            "note: for webhooks and other controllers: {flags}"
        ));
        if with_controller {
            let controller = add_controller(target, args, project, &mut intent)?;
            next = edit(&controller);
            text += &external::notes(added.as_ref());
        }
    }
    text += &notes(definition, &definition.types());
    let mut plan = session.plan(&intent, text, next)?;
    plan.changes = joined(plan.changes, files, krate);
    Ok(plan)
}

/// Plans a controller for a kind of which another crate has the types: the definition says its names and its scope.
fn elsewhere(
    args: &Args,
    definition: &Definition,
    with_controller: bool,
    session: Session,
    project: &Project,
) -> anyhow::Result<Option<Plan>> {
    if !with_controller {
        output::message("nothing to do: the crate has the types, and you chose no controller");
        return Ok(None);
    }
    let type_path = args.of.external_type.as_deref().unwrap_or_default();
    let apis = versions(definition, project)?;
    // A path may name the version: `cert_manager::v1::Certificate`.
    let is_named = |api: &&Resource| type_path.split("::").any(|part| part == api.version);
    let Some(api) = apis.iter().find(is_named).or(apis.first()) else {
        return Ok(None);
    };
    let wanted = Wanted {
        named: external::named(definition, api),
        plural: Some(&definition.plural),
        ..args.of.wanted(Some(definition.namespaced))
    };
    let Found { target, added } = existing::find(&wanted, project, session.root())?;
    let mut intent = Intent::tables(project);
    let controller = add_controller(target, args, project, &mut intent)?;
    let next = edit(&controller);
    let notes = external::notes(added.as_ref());
    session.plan(&intent, notes, next).map(Some)
}

/// The changes of the command's tables, and those of the types: both add lines to the manifest.
fn joined(mut changes: Vec<Change>, files: Vec<Change>, krate: &TypesCrate) -> Vec<Change> {
    for file in files {
        match changes.iter_mut().find(|change| change.path == file.path) {
            Some(change) => external::join(change, krate),
            None => changes.push(file),
        }
    }
    changes
}

fn text(path: &Path) -> anyhow::Result<String> {
    if let Some(address) = path.to_str().filter(|path| path.contains("://")) {
        let help = format!("download it: `curl -fsSL {address} | kbr create api --from-crd -`");
        return Err(Diagnostic::new(format!("`{address}` is not a file"))
            .help(help)
            .into());
    }
    if path == Path::new("-") {
        return regular::stdin().context("cannot read the standard input");
    }
    regular::followed(path).map_err(|error| {
        Diagnostic::new(format_args!("cannot read `{}`: {error}", path.display()))
            .help("pass a file, or `-` for the standard input")
            .into()
    })
}

/// What the definition says cannot be chosen.
fn check_flags(args: &Args) -> anyhow::Result<()> {
    let of = &args.of;
    let mut passed = vec![
        ("group", !of.kind.group.is_empty()),
        ("version", !of.kind.version.is_empty()),
        ("domain", of.kind.domain.is_some()),
        ("plural", of.plural.is_some()),
        ("namespaced", args.new.namespaced.is_some()),
        ("resource=false", args.resource == Some(false)),
    ];
    passed.extend(args.new.passed());
    let mut problems = Problems::default();
    for (flag, _) in passed.iter().filter(|(_, passed)| *passed) {
        problems.add(
            format!("`--{flag}` contradicts `--from-crd`: the CRD says it"),
            format!("leave `--{flag}` out"),
        );
    }
    problems.into_result()
}

fn with_controller(args: &Args) -> anyhow::Result<bool> {
    let (_, controller) = args.parts();
    let help = "pass `--controller` or `--controller=false`; `--yes` creates one";
    let ask = || prompt::yes_or_no("Create Controller", true, help);
    controller.map_or_else(ask, Ok)
}

/// The versions of the kind that the project has.
fn known(definition: &Definition, project: &Project) -> Vec<Resource> {
    let is_known =
        |api: &&Resource| api.full_group == definition.group && api.kind == definition.kind;
    project.apis().filter(is_known).cloned().collect()
}

/// The versions of the kind, as the project's own: the stored one first.
///
/// # Errors
/// The kind cannot belong to the project.
pub fn apis(definition: &Definition, project: &Project) -> anyhow::Result<Vec<Resource>> {
    let apis = versions(definition, project)?;
    for api in &apis {
        api.check_among(project.apis())?;
    }
    Ok(apis)
}

/// The versions of the kind, the stored one first: PROJECT takes the first for it.
fn versions(definition: &Definition, project: &Project) -> anyhow::Result<Vec<Resource>> {
    let kind = &definition.kind;
    if !kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        let text = format!("the kind `{kind}` begins in lower case, unlike a type of Rust");
        let help = "use `kube::core::DynamicObject` for its objects";
        return Err(Diagnostic::new(text).help(help).into());
    }
    let mut versions: Vec<_> = definition.versions.iter().collect();
    versions.sort_by_key(|version| !version.storage);
    versions
        .into_iter()
        .map(|version| api(definition, &version.name, project))
        .collect()
}

fn api(definition: &Definition, version: &str, project: &Project) -> anyhow::Result<Resource> {
    let domain = &project.head.domain;
    let word = definition.group.strip_suffix(domain.as_str());
    let word = word.and_then(|word| word.strip_suffix('.'));
    let word = word.filter(|word| !word.is_empty() && !domain.is_empty());
    let mut api = Resource::imported(&ApiFlags {
        group: word.unwrap_or(&definition.group).to_owned(),
        domain: word.map(|_| domain.clone()).unwrap_or_default(),
        version: version.to_owned(),
        kind: definition.kind.clone(),
        plural: Some(definition.plural.clone()),
        singular: Some(definition.singular.clone()),
        short_names: definition.short_names.clone(),
        namespaced: definition.namespaced,
    })?;
    // One group, one module.
    let known = project
        .apis()
        .find(|known| known.full_group == api.full_group);
    if let Some(known) = known {
        api.group.clone_from(&known.group);
    }
    Ok(api)
}

fn add_controller(
    target: Target,
    args: &Args,
    project: &Project,
    intent: &mut Intent,
) -> anyhow::Result<Controller> {
    let Planned { value, recorded } =
        controller::name(target, args.controller_name.as_deref(), project)?;
    if recorded {
        let name = &value.name;
        intent.again(|table| matches!(table, Table::Controller(known) if known.name == *name));
    } else {
        intent.add(Table::Controller(value.clone()));
    }
    Ok(value)
}

/// What the types do not say, and what is not in them.
pub fn notes(definition: &Definition, types: &[Types]) -> Lines {
    let mut text = Lines::default();
    for types in types {
        let mut seen = BTreeSet::new();
        for Kept { path, what } in &types.kept {
            if seen.insert((path, what)) {
                let path = if path.is_empty() { "the object" } else { path };
                let version = &types.version;
                text.add(format_args!(
                    "note: {version}: kept {what} of `{path}` as in the CRD: no Rust type says it"
                ));
            }
        }
    }
    for note in &definition.left_out {
        text.add(format_args!("note: {note}"));
    }
    text
}

fn edit(controller: &Controller) -> Lines {
    let edit = format!("  edit {}", controller.path());
    Lines::from_iter(["next:", &edit, "  make test"])
}

fn next_steps(apis: &[Resource], controller: Option<&Controller>) -> Lines {
    let mut text = Lines::from("next:\n");
    for api in apis {
        text.add(format_args!("  read {}", api.path()));
    }
    if let Some(controller) = controller {
        text.add(format_args!("  edit {}", controller.path()));
    }
    text += &Lines::from("  make manifests\n  make test\n");
    text
}

#[cfg(test)]
mod tests;
