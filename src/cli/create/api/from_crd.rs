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
use crate::cli::create::existing::notes as crate_notes;
use crate::cli::prompt;
use crate::cli::write::{self, Intent, Plan, Planned};
use kbr_host::diagnostic::{Diagnostic, Problems};
use kbr_host::lines::Lines;
use kbr_host::{output, regular};
use kbr_scaffold::existing::{self, Found, Wanted};
use kbr_scaffold::imported::{self, Definition, Kept, Shared, Types};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{ApiFlags, Resource};

/// The definition, and where it goes.
#[derive(Debug)]
pub struct Import<'a> {
    args: &'a Args,
    definition: &'a Definition,
    /// What it shares with kinds of the project.
    shared: Shared,
    /// Of its versions.
    types: Vec<Types>,
    with_controller: bool,
    project: &'a Project,
    root: &'a Path,
}

/// What the command does, and what it says about it: notes, and what to do next.
type Steps = (Intent, Lines, Lines);

/// Plans the command for the definition at `path`; `-` is the standard input.
///
/// # Errors
/// The file has no definition, its kind cannot belong to the project, or what would be written conflicts with what exists.
pub fn plan(args: &Args, path: &Path) -> anyhow::Result<Option<Plan>> {
    check_flags(args)?;
    let kind = Some(args.of.kind.kind.as_str()).filter(|kind| !kind.is_empty());
    let definition = imported::read(&text(path)?, kind)?;
    let krate = args.of.external_crate.as_deref();
    let types_crate = args.external.then(|| TypesCrate::of(krate)).transpose()?;
    let with_controller = with_controller(args)?;
    let (session, project) = write::open(args.write)?;
    let import = Import::new(args, &definition, with_controller, &project, session.root())?;
    let (intent, notes, next) = match (types_crate, krate) {
        (Some(krate), _) => import.external(&krate)?,
        (None, None) => import.own()?,
        (None, Some(_)) if with_controller => import.elsewhere()?,
        (None, Some(_)) => {
            output::message("nothing to do: the crate has the types, and you chose no controller");
            return Ok(None);
        }
    };
    session.plan(&intent, notes, next).map(Some)
}

impl<'a> Import<'a> {
    fn new(
        args: &'a Args,
        definition: &'a Definition,
        with_controller: bool,
        project: &'a Project,
        root: &'a Path,
    ) -> anyhow::Result<Self> {
        let mut import = Import {
            args,
            definition,
            shared: Shared::default(),
            types: Vec::new(),
            with_controller,
            project,
            root,
        };
        if !args.external {
            import.shared = import.shared()?;
        }
        import.types = definition.types_beside(&import.shared);
        Ok(import)
    }

    /// The types of a version.
    fn types(&self, version: &str) -> Option<&Types> {
        self.types.iter().find(|types| types.version == version)
    }

    /// The kind as one of the project's own. What the project has of it is merged.
    fn own(&self) -> anyhow::Result<Steps> {
        let (definition, project) = (self.definition, self.project);
        let is_known =
            |api: &&Resource| api.full_group == definition.group && api.kind == definition.kind;
        let known: Vec<&Resource> = project.apis().filter(is_known).collect();
        let earlier = self.earlier(&known)?;
        let (mut intent, mut text) = (Intent::tables(project), Lines::default());
        let mut added = Vec::new();
        for api in versions(definition, project)? {
            let types = self.types(&api.version);
            if let Some(known) = known.iter().find(|known| known.version == api.version) {
                text += &self.merge(&known.path(), &earlier, types, &mut intent);
                continue;
            }
            api.check_among(project.apis())?;
            intent.add(Table::Api(api.clone()));
            if let Some(types) = types {
                intent.add_file(api.path(), types.text.clone());
            }
            added.push(api);
        }
        let is_new = self.with_controller && known.is_empty();
        let controller = match added.first().filter(|_| is_new) {
            Some(stored) => Some(self.controller(Target::own(stored), &mut intent)?),
            None => None,
        };
        self.keep_source("api", &mut intent)?;
        text += &self.gone(&known);
        text.extend(said(&notes(definition, &self.types)));
        Ok((intent, text, next_steps(&added, controller.as_ref())))
    }

    /// The types of a kind that another operator owns, and a controller for it.
    fn external(&self, krate: &TypesCrate) -> anyhow::Result<Steps> {
        let apis = versions(self.definition, self.project)?;
        let mut intent = Intent::tables(self.project);
        let mut text = self.write_types(krate, &apis, &mut intent)?;
        let mut next = Lines::from("next:\n  make test\n");
        if let Some(stored) = apis.first() {
            let Found { target, added } = self.target(krate, stored)?;
            text.add(format_args!(
                "note: for webhooks and other controllers: --external-crate {} --external-type {}",
                target.external_crate, target.type_path
            ));
            if self.with_controller {
                next = edit(&self.controller(target, &mut intent)?);
            } else if let Some(added) = &added {
                text.extend(self.depend(&added.line, &mut intent));
            }
            text += &added.as_ref().map(crate_notes).unwrap_or_default();
        }
        text.extend(said(&notes(self.definition, &self.types)));
        Ok((intent, text, next))
    }

    /// A controller for a kind of which another crate has the types: the definition says its names and its scope.
    fn elsewhere(&self) -> anyhow::Result<Steps> {
        let of = &self.args.of;
        let type_path = of.external_type.as_deref().unwrap_or_default();
        let apis = versions(self.definition, self.project)?;
        // A path may name the version: `cert_manager::v1::Certificate`.
        let is_named = |api: &&Resource| type_path.split("::").any(|part| part == api.version);
        let api = apis.iter().find(is_named).or(apis.first());
        let wanted = Wanted {
            named: external::named(self.definition, api.context("the CRD has no versions")?),
            plural: Some(&self.definition.plural),
            ..of.wanted(Some(self.definition.namespaced))
        };
        let Found { target, added } = existing::find(&wanted, self.project, self.root)?;
        let mut intent = Intent::tables(self.project);
        let next = edit(&self.controller(target, &mut intent)?);
        let notes = added.as_ref().map(crate_notes).unwrap_or_default();
        Ok((intent, notes, next))
    }

    fn controller(&self, target: Target, intent: &mut Intent) -> anyhow::Result<Controller> {
        let chosen = self.args.controller_name.as_deref();
        let Planned { value, recorded } = controller::name(target, chosen, self.project)?;
        if recorded {
            let name = &value.name;
            intent.again(|table| matches!(table, Table::Controller(known) if known.name == *name));
        } else {
            intent.add(Table::Controller(value.clone()));
        }
        Ok(value)
    }
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

/// What the types do not say, and what is not in them, a sentence each.
pub fn notes(definition: &Definition, types: &[Types]) -> Vec<String> {
    let mut notes = Vec::new();
    for types in types {
        notes.extend(kept(&types.version, &types.kept));
    }
    notes.extend(definition.left_out.iter().cloned());
    notes
}

fn said(notes: &[String]) -> impl Iterator<Item = String> {
    notes.iter().map(|note| format!("note: {note}"))
}

/// What the types of a version do not say, a sentence each.
pub fn kept(version: &str, kept: &[Kept]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let new = kept.iter().filter(|it| seen.insert((&it.path, &it.what)));
    let notes = new.map(|Kept { path, what }| {
        let path = if path.is_empty() { "the object" } else { path };
        format!("{version}: kept {what} of `{path}` as in the CRD: no Rust type says it")
    });
    notes.collect()
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
