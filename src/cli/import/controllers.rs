//! The controllers of a project in Go: those that PROJECT names, and those whose reconcilers say their kind.

use super::{GoResource, Imported};
use crate::cli::create::api::controller;
use kbr_scaffold::golang::{Found, GoType, MOST, Reconciler, carried, word};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::{Resource, kubernetes, names};

impl Imported {
    /// A controller that PROJECT names; empty for the default name. PROJECT may name one for each version, of which Go reconciles one.
    pub(super) fn controller(
        &mut self,
        name: &str,
        mut target: Target,
        resource: &GoResource,
        found: &Found,
    ) -> anyhow::Result<()> {
        let name = Some(name).filter(|name| !name.is_empty());
        let named = Controller::new(name.unwrap_or(&resource.kind).to_owned(), target.clone());
        let reconciler = found.reconcilers.of(&named, &resource.group);
        let has_controller = |it: &&GoResource| {
            let same = it.kind == resource.kind && it.full_group() == resource.full_group();
            same && !it.controller_names().is_empty()
        };
        let mut versions = found.project.resources.iter().filter(has_controller);
        if versions.nth(1).is_some() {
            let kind = reconciler.and_then(|it| it.kind.as_ref());
            let (_, version) = kind.map(GoType::group_and_version).unwrap_or_default();
            target = version_of(target, version, found, self.intent.project());
        }
        let is_this = |it: &Controller| {
            it.target.is_version_of(&target) && name.is_none_or(|name| it.name == name)
        };
        let project = self.intent.project();
        let before = project.controllers().find(|it| is_this(it));
        if let Some(before) = before {
            self.code.push(format!(
                "`PROJECT` names several controllers of `{}`, of which there is one here, for `{}`",
                resource.kind, before.target.version
            ));
            return Ok(());
        }
        let controller = controller::name(target, name, project)?.value;
        self.add(&controller, reconciler, found);
        Ok(())
    }

    /// Controllers for the reconcilers that PROJECT does not name: of the kind that they pass to `For`, or that their name says.
    pub(super) fn unnamed(&mut self, found: &Found) {
        // The one that has the name of the kind gets the usual name, too.
        let is_usual = |it: &&Reconciler| {
            let kind = it.kind.as_ref();
            kind.is_none_or(|kind| word(&kind.name) == it.word())
        };
        let all = found.reconcilers.all.iter().take(MOST);
        let (usual, others): (Vec<_>, Vec<_>) = all.partition(is_usual);
        for reconciler in usual.into_iter().chain(others) {
            let key = (reconciler.path.to_string(), reconciler.receiver.clone());
            let project = self.intent.project();
            if self.ported.contains(&key) || project.controllers().count() >= MOST {
                continue;
            }
            let target = match &reconciler.kind {
                Some(kind) => of_type(kind, found, project),
                None => of_word(&reconciler.word(), found, project),
            };
            let Some(target) = target else { continue };
            let has_other = project
                .controllers()
                .any(|it| it.target.is_version_of(&target));
            // The names distinguish two of one kind; one without a kind may belong to the other.
            if has_other && reconciler.kind.is_none() {
                continue;
            }
            let name = has_other.then(|| label(reconciler));
            let is_taken = |name: &String| {
                let module = names::module(name);
                project.controllers().any(|it| it.module() == module)
            };
            if name.as_ref().is_some_and(is_taken) {
                continue;
            }
            let planned = controller::name(target, name.as_deref(), project);
            if let Some(planned) = planned.ok().filter(|it| !it.recorded) {
                self.add(&planned.value, Some(reconciler), found);
            }
        }
    }

    /// The table, and the file with the reconciler in Go.
    fn add(&mut self, controller: &Controller, reconciler: Option<&Reconciler>, found: &Found) {
        self.intent.add(Table::Controller(controller.clone()));
        if let Some(reconciler) = reconciler {
            self.intent.edit(match self.carried.get(&*reconciler.path) {
                Some(first) => vec![carried::beside(controller, first)],
                None => carried::controller(controller, reconciler, &found.permissions),
            });
            let path = reconciler.path.to_string();
            let key = (path.clone(), reconciler.receiver.clone());
            self.ported.insert(key);
            self.carried.entry(path).or_insert(controller.path());
        }
        let go = reconciler.map(|it| it.path.to_string());
        self.controllers.push((controller.path(), go));
    }
}

/// Another version of the project's own kind: this one, or the stored one.
fn version_of(target: Target, version: &str, found: &Found, project: &Project) -> Target {
    let is_own = project.versions(&target).any(|it| it.version == version);
    let stored = || {
        let mut all = found.definitions.iter();
        let definition = all.find(|it| it.group == target.full_group && it.kind == target.kind)?;
        let mut versions = definition.versions.iter();
        versions.find(|it| it.storage).map(|it| it.name.as_str())
    };
    let version = if is_own { Some(version) } else { stored() };
    let other = project
        .versions(&target)
        .find(|it| Some(it.version.as_str()) == version)
        .map(Target::own);
    other.unwrap_or(target)
}

/// The project's own or built-in kind that a type in Go is.
fn of_type(kind: &GoType, found: &Found, project: &Project) -> Option<Target> {
    let (folder, version) = kind.group_and_version();
    if kind.package.starts_with("k8s.io/") {
        let built_in = kubernetes::find(folder, version, &kind.name)?;
        return Some(Target::kubernetes(&built_in));
    }
    let mut parts = found.project.repo.match_indices('/').map(|(at, _)| at);
    let owner = parts
        .nth(1)
        .map_or(&*found.project.repo, |at| &found.project.repo[..at]);
    let is_near = kind.package.is_empty() || kind.package.starts_with(owner);
    let is_group = |api: &Resource| {
        let mut folders = kind.package.split('/');
        folders.any(|it| it == api.group || it == names::module(&api.group))
    };
    let rank = |api: &&Resource| (is_group(api), api.version == version);
    let own = project.apis().filter(|it| it.kind == kind.name);
    let own = own.filter(|it| is_near || rank(it) == (true, true));
    let target = Target::own(own.max_by_key(rank)?);
    Some(version_of(target, version, found, project))
}

/// The project's own kind that the name of a reconciler says, if it is one kind.
fn of_word(said: &str, found: &Found, project: &Project) -> Option<Target> {
    let mut own = project.apis().filter(|it| word(&it.kind) == said);
    let target = Target::own(own.next()?);
    let is_one = own.all(|it| it.full_group == target.full_group);
    is_one.then(|| version_of(target, "", found, project))
}

/// `CaptainBackupReconciler` as the name of a controller: `captain-backup`; of a `Reconciler`, its folder.
fn label(reconciler: &Reconciler) -> String {
    let receiver = &reconciler.receiver;
    let name = receiver.strip_suffix("Reconciler").unwrap_or(receiver);
    if name.is_empty() {
        return names::to_label(&reconciler.word());
    }
    let mut words = String::new();
    let mut was_lower = false;
    for it in name.chars() {
        if it.is_ascii_uppercase() && was_lower {
            words.push('-');
        }
        was_lower = it.is_ascii_lowercase();
        words.push(it);
    }
    names::to_label(&words)
}
