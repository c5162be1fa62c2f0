//! The webhooks that the API server calls in Go. PROJECT alone does not define one: a webhook without a server rejects each request.

use std::collections::{BTreeMap, BTreeSet};

use super::Imported;
use kbr_host::diagnostic::Problems;
use kbr_scaffold::blueprint::Edit;
use kbr_scaffold::golang::{self, Admitting, Found, GoResource, GoWebhooks, carried};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::resource::webhook::{AdmissionKind, Webhook};

impl Imported {
    /// The webhooks of a resource: a table for each version that a comment in Go describes.
    pub(super) fn webhooks(
        &mut self,
        resource: &GoResource,
        said: &GoWebhooks,
        target: &Target,
        found: &Found,
    ) -> anyhow::Result<()> {
        let mut tables: BTreeMap<String, Webhook> = BTreeMap::new();
        for verb in admission(said) {
            match described(target, verb, found, self.intent.project()) {
                None => self.webhooks_left.push(undescribed(resource, verb)),
                // Its comment is a note.
                Some(_) if found.no_webhooks.is_some() => {}
                Some((target, path)) => {
                    let table = table(&mut tables, &target);
                    path.clone_into(table.path_mut(verb));
                }
            }
        }
        match found.no_webhooks {
            _ if !said.conversion => {}
            Some(reason) => self.webhooks_left.push(format!(
                "not taken over: the conversion of `{}`, because {reason}; create it with `kbr create webhook`",
                resource.kind
            )),
            None if statuses(target, found).len() > 1 => self.webhooks_left.push(format!(
                "not taken over: conversions between versions of which only some have a status: `{}`; create each with `kbr create webhook --conversion`",
                resource.kind
            )),
            None => {
                let table = table(&mut tables, target);
                table.spokes = spokes(target, &said.spoke, self.intent.project());
            }
        }
        let tables = tables.into_values();
        for webhook in tables.filter(|it| it.admits() || !it.spokes.is_empty()) {
            let mut problems = Problems::default();
            webhook.check(&mut problems);
            problems.into_result()?;
            self.webhook(webhook, found);
        }
        Ok(())
    }

    /// Webhooks that PROJECT does not name: each that Go deploys for a kind of the project or of Kubernetes that has none yet.
    pub(super) fn unnamed_webhooks(&mut self, found: &Found) {
        let mut tables: Vec<Webhook> = Vec::new();
        let described = found.webhooks.iter();
        for described in described.filter(|_| found.no_webhooks.is_none()) {
            let project = self.intent.project();
            let Some((target, verb)) = described.kind(project) else {
                continue;
            };
            let path = described.path.as_deref().unwrap_or_default();
            let is_taken = |it: &Webhook| {
                let has_verb = it.target.matches(&target) && !it.at(verb).is_empty();
                has_verb || it.defaulting == path || it.validation == path
            };
            if project.webhooks().any(is_taken) || tables.iter().any(is_taken) {
                continue;
            }
            let mut alone = Webhook::new(target.clone());
            path.clone_into(alone.path_mut(verb));
            let mut problems = Problems::default();
            alone.check(&mut problems);
            if problems.into_result().is_err() {
                continue;
            }
            match tables.iter_mut().find(|it| it.target.matches(&target)) {
                Some(table) => path.clone_into(table.path_mut(verb)),
                None => tables.push(alone),
            }
        }
        for table in tables {
            self.webhook(table, found);
        }
    }

    /// The table, the comments, and the files with the webhook and its conversions in Go.
    fn webhook(&mut self, webhook: Webhook, found: &Found) {
        let head = &self.intent.project().head;
        let mut edits = carried::webhook(&webhook, &found.webhooks, head);
        let described = golang::described(&webhook, &found.webhooks);
        let described: BTreeSet<_> = described.map(|(_, _, it)| &it.marker.path).collect();
        if statuses(&webhook.target, found).contains(&false) {
            let versions = self.intent.project().versions(&webhook.target);
            let spokes = versions.filter(|it| webhook.spokes.contains(&it.version));
            edits.extend(spokes.map(|it| Edit::replace(&it.conversion_path(), STATUS, "")));
        }
        let kind = &webhook.target.kind;
        let is_of = |file: &&Admitting| {
            file.converts(kind, &webhook.spokes) || described.contains(&file.path)
        };
        for file in found.admitting.iter().filter(is_of) {
            let path = file.path.to_string();
            let first = self.carried.get(&path);
            let first = first.or_else(|| self.carried_webhooks.get(&path));
            edits.push(carried::admitting(
                &webhook,
                file,
                first.map(String::as_str),
            ));
            let ours = webhook.path();
            self.webhooks.push((ours.clone(), Some(path.clone())));
            self.carried_webhooks.entry(path).or_insert(ours);
        }
        self.intent.add(Table::Webhook(webhook));
        self.intent.edit(edits);
    }
}

/// What the template of a conversion says of the status, which some kinds do not have.
const STATUS: &str = "            status: carry(&object.status)?,\n";

/// Whether versions of a kind have a status: yes, no, or both.
fn statuses(target: &Target, found: &Found) -> BTreeSet<bool> {
    let mut all = found.definitions.iter();
    let definition = all.find(|it| it.kind == target.kind && it.group == target.full_group);
    let versions = definition.into_iter().flat_map(|it| &it.versions);
    versions.map(|it| it.has_status).collect()
}

/// The table of a version, by its version.
fn table<'a>(tables: &'a mut BTreeMap<String, Webhook>, target: &Target) -> &'a mut Webhook {
    let table = tables.entry(target.version.clone());
    table.or_insert_with(|| Webhook::new(target.clone()))
}

/// The admission webhooks that PROJECT names.
fn admission(said: &GoWebhooks) -> impl Iterator<Item = AdmissionKind> + use<> {
    let defaulting = said.defaulting.then_some(AdmissionKind::Mutate);
    let validation = said.validation.then_some(AdmissionKind::Validate);
    defaulting.into_iter().chain(validation)
}

/// The version and the path that a comment in Go has for a webhook of PROJECT: PROJECT's version, or one of which PROJECT says nothing.
fn described<'a>(
    kind: &Target,
    verb: AdmissionKind,
    found: &'a Found,
    project: &Project,
) -> Option<(Target, &'a str)> {
    let path = |version: &str| {
        let mut webhooks = found.webhooks.iter();
        let webhook = webhooks.find(|it| it.is_of(kind, verb) && it.has_version(version))?;
        webhook.path.as_deref()
    };
    if let Some(path) = path(&kind.version) {
        return Some((kind.clone(), path));
    }
    let is_named = |version: &str| {
        let mut resources = found.project.resources.iter();
        resources.any(|it| {
            let webhooks = it.webhooks.iter();
            it.kind == kind.kind
                && it.version == version
                && it.full_group() == kind.full_group
                && webhooks.flat_map(admission).any(|it| it == verb)
        })
    };
    let mut others = project.versions(kind).filter(|it| !is_named(&it.version));
    others.find_map(|it| Some((Target::own(it), path(&it.version)?)))
}

fn undescribed(resource: &GoResource, verb: AdmissionKind) -> String {
    let verb = match verb {
        AdmissionKind::Mutate => "defaulting",
        AdmissionKind::Validate => "validating",
    };
    format!(
        "not taken over: the {verb} webhook of `{}` in `{}`, which `PROJECT` names, but no `+kubebuilder:webhook` comment defines",
        resource.kind, resource.version
    )
}

/// The versions that are converted: those that PROJECT says, or all others.
fn spokes(hub: &Target, said: &[String], project: &Project) -> Vec<String> {
    let others = project.versions(hub).map(|api| api.version.clone());
    let others = others.filter(|version| *version != hub.version);
    others
        .filter(|version| said.is_empty() || said.contains(version))
        .collect()
}
