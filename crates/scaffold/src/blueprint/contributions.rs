//! The files and lines that each table of PROJECT contributes to the tree.

use super::Source;
use crate::cargo_lock;
use crate::install;
use crate::library::Origin;
use crate::project::{Project, Table};
use crate::release::Release;
use crate::resource::Resource;
use crate::resource::target::Target;
use crate::resource::webhook::Webhook;
use crate::scaffold::{Part, Paths, Policy, Sets};
use crate::vars::Vars;

const LOCK: &str = "Cargo.lock";

/// The contributions of `source` to the files at `paths`.
///
/// # Errors
/// A mistake in the templates.
pub fn parts(
    source: Source,
    project: &Project,
    release: &Release,
    sets: &Sets,
    paths: Paths,
) -> anyhow::Result<Vec<Part>> {
    let mut vars = Vars {
        kbr_version: release.version.clone().into_owned(),
        kbr_install: install::command(&release.version).to_owned(),
        ..project.vars()
    };
    let table = match source {
        Source::Head => return head(project, release, sets, &vars, paths),
        Source::Table(at) => &project.tables[at],
    };
    match table {
        Table::Api(api) => {
            api.fill(&mut vars, project.is_storage(api));
            let mut parts = sets.render("api", &vars, paths)?;
            // The file with the types is not the template's.
            parts.retain(|part| !(api.imported && part.path() == api.path()));
            Ok(parts)
        }
        Table::Controller(controller) => {
            controller.fill(&mut vars);
            // Nothing is known about the status of an imported kind, which has a sample like one of the project's own.
            vars.has_sample = vars.own_kind;
            vars.own_kind &= !is_imported(&controller.target, project);
            sets.render("controller", &vars, paths)
        }
        Table::Webhook(table) => webhook(table, project, sets, vars, paths),
    }
}

fn is_imported(target: &Target, project: &Project) -> bool {
    let mut imported = project.apis().filter(|api| api.imported);
    imported.any(|api| target.full_group == api.full_group && target.kind == api.kind)
}

fn head(
    project: &Project,
    release: &Release,
    sets: &Sets,
    vars: &Vars,
    paths: Paths,
) -> anyhow::Result<Vec<Part>> {
    let mut parts = sets.render("init", vars, paths)?;
    let license = &project.head.license;
    if !["", "none"].contains(&license.as_str()) {
        parts.extend(sets.render(&format!("license-{license}"), vars, paths)?);
    }
    // With an external crate, cargo changes the lock, so it belongs to the user.
    let policy = if project.tables.iter().any(Table::is_external) {
        Policy::Once
    } else {
        Policy::Owned
    };
    if paths.have(LOCK) {
        parts.push(Part::Whole {
            path: LOCK.to_owned(),
            policy,
            text: cargo_lock::named(&release.lock, &project.head.name, project.head.library),
        });
    }
    if project.head.library == Origin::Registry {
        return Ok(parts);
    }
    parts.extend(sets.render("vendored", vars, paths)?);
    let library = release.library.iter().filter(|(path, _)| paths.have(path));
    parts.extend(library.map(|(path, text)| Part::Whole {
        path: path.clone(),
        policy: Policy::Owned,
        text: text.clone().into_owned(),
    }));
    Ok(parts)
}

fn webhook(
    webhook: &Webhook,
    project: &Project,
    sets: &Sets,
    mut vars: Vars,
    paths: Paths,
) -> anyhow::Result<Vec<Part>> {
    webhook.fill(&mut vars);
    webhook.fill_calls(&mut vars);
    let mut parts = sets.render("webhook", &vars, paths)?;
    for version in &webhook.spokes {
        let mut versions = project.versions(&webhook.target);
        if let Some(spoke) = versions.find(|api| api.version == *version) {
            fill_spoke(&mut vars, &webhook.target, spoke);
            parts.extend(sets.render("conversion", &vars, paths)?);
        }
    }
    Ok(parts)
}

/// Sets the variables for `spoke`, a version that is converted to and from `hub`.
fn fill_spoke(vars: &mut Vars, hub: &Target, spoke: &Resource) {
    vars.hub_version.clone_from(&hub.version);
    vars.version.clone_from(&spoke.version);
    vars.type_path = spoke.type_path();
    vars.spoke_type = spoke.spoke_type();
    // `CaptainV1alpha1`
    vars.spoke_alias = format!("{}{}", spoke.kind, spoke.version.replacen('v', "V", 1));
}
