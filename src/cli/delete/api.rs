//! `kbr delete api`: a version of one of the project's own kinds.

use std::path::Path;

use super::super::kind::KindArgs;
use super::DeleteArgs;
use super::deletion::Deletion;
use super::tables;
use kbr_host::diagnostic::Problems;
use kbr_scaffold::contents;
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::api_version::priority;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::derived;

/// Remove a version of a kind, with its types, CRD, sample and roles
///
/// Deleting the last version of a kind also removes its controllers. Deleting a spoke also removes its conversion. Files that you
/// have edited are listed, and removed only with `--force`.
///
///     kbr delete api --group crew --version v1 --kind Captain
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    of: KindArgs,
    #[command(flatten)]
    pub write: DeleteArgs,
}

/// Resolves what the command removes; `is_stored` tells whether the API server stores objects in a version.
///
/// # Errors
/// The version does not exist, or something else needs it: every reason, with what to do first.
pub fn choose(
    args: &Args,
    project: &Project,
    is_stored: &dyn Fn(&Resource) -> bool,
) -> anyhow::Result<Deletion> {
    let is_selected = |api: &&Resource| args.of.select(&Target::own(api), project);
    let Some(api) = project.apis().find(is_selected) else {
        return Err(tables::missing(&args.of, "resource", project).into());
    };
    let target = Target::own(api);
    let others: Vec<&Resource> = project
        .versions(&target)
        .filter(|other| !other.matches(api))
        .collect();
    let mut problems = Problems::default();
    check_stored(api, &others, project, is_stored, &mut problems);
    check_webhooks(&target, project, &mut problems);
    if !others.is_empty() {
        check_controllers(&target, project, &mut problems);
    }
    problems.into_result()?;
    let mut deletion = Deletion::of(project);
    deletion.change(|table| match table {
        Table::Api(known) => (!known.matches(api)).then(|| table.clone()),
        Table::Controller(controller) => {
            (!controller.target.matches(&target)).then(|| table.clone())
        }
        Table::Webhook(webhook) if webhook.target.is_version_of(&target) => {
            let mut webhook = webhook.clone();
            webhook.spokes.retain(|spoke| *spoke != api.version);
            let is_empty = !webhook.admits() && webhook.spokes.is_empty();
            (!is_empty).then_some(Table::Webhook(webhook))
        }
        Table::Webhook(_) => Some(table.clone()),
    });
    Ok(deletion)
}

/// The stored version cannot go before the others.
fn check_stored(
    api: &Resource,
    others: &[&Resource],
    project: &Project,
    is_stored: &dyn Fn(&Resource) -> bool,
    problems: &mut Problems,
) {
    let hub = project.hub(&api.full_group, &api.kind);
    let is_hub = |other: &&&Resource| hub.is_some_and(|it| it.target.version == other.version);
    let newest = others.iter().max_by_key(|it| priority(&it.version));
    let next = others.iter().find(is_hub).or(newest);
    let Some(next) = next.filter(|_| is_stored(api)) else {
        return;
    };
    let Resource {
        kind,
        version,
        plural,
        full_group,
        ..
    } = api;
    problems.add(
        format!("`{version}` is the storage version of `{kind}`, and other versions remain"),
        format!(
            "store `{0}` first: move the line `storage = false,` from `{1}` to `{2}`, add `manager.migrate_storage::<{3}>();` to `src/main.rs`, run `make manifests deploy`, and wait until `{version}` is gone from `status.storedVersions` of the CRD `{plural}.{full_group}`",
            next.version,
            next.path(),
            api.path(),
            next.type_path(),
        ),
    );
}

/// Webhooks come from another command, and a hub converts the other versions.
fn check_webhooks(target: &Target, project: &Project, problems: &mut Problems) {
    for table in &project.tables {
        let Table::Webhook(webhook) = table else {
            continue;
        };
        if !webhook.target.matches(target) {
            continue;
        }
        let (kind, version) = (&target.kind, &target.version);
        let command = tables::command(table);
        if !webhook.spokes.is_empty() {
            problems.add(
                format!(
                    "`{version}` is the hub of `{kind}`: {} is converted to and from it",
                    webhook.spokes.join(" and ")
                ),
                format!("delete the conversion first: `{command} --conversion`"),
            );
        }
        if webhook.admits() {
            problems.add(
                format!("`{kind}` {version} has webhooks"),
                format!("delete them first: `{command}`"),
            );
        }
    }
}

/// A controller of a kind that remains is not removed with one of its versions.
fn check_controllers(target: &Target, project: &Project, problems: &mut Problems) {
    for controller in project.controllers().filter(|it| it.target.matches(target)) {
        let name = &controller.name;
        let command = tables::command(&Table::Controller(controller.clone()));
        problems.add(
            format!(
                "the controller `{name}` reconciles `{}` {}, and other versions remain",
                target.kind, target.version
            ),
            format!("delete it first: `{command}`; then create one for another version"),
        );
    }
}

/// Whether the API server stores objects in this version: from the attribute of its type, or from PROJECT if there is none.
pub fn is_stored(root: &Path, project: &Project, api: &Resource) -> bool {
    let text = contents::text(root, &api.path());
    let kinds = text.map_or_else(Vec::new, |text| derived::kinds(&text));
    let mut kinds = kinds.into_iter();
    let own = kinds.find(|it| it.kind == api.kind && it.version == api.version);
    own.map_or_else(|| project.is_storage(api), |own| own.is_stored)
}
