//! What each table of PROJECT contributes to the tree.

use super::Source;
use crate::lock;
use crate::project::{Project, Table};
use crate::release::Release;
use crate::resource::Resource;
use crate::resource::target::Target;
use crate::resource::webhook::Webhook;
use crate::scaffold::{Part, Policy, Sets};
use crate::vars::Vars;

/// All contributions, in the order of PROJECT.
pub fn all(
    project: &Project,
    release: &Release,
    sets: &Sets,
) -> anyhow::Result<Vec<(Source, Vec<Part>)>> {
    let vars = Vars {
        kbr_version: release.version.clone().into_owned(),
        ..project.vars()
    };
    let mut all = vec![(Source::Head, head(project, release, sets, &vars)?)];
    for (at, table) in project.tables.iter().enumerate() {
        let vars = vars.clone();
        let parts = match table {
            Table::Api(api) => {
                let mut vars = vars;
                api.fill(&mut vars, project.is_storage(api));
                sets.render("api", &vars)?
            }
            Table::Controller(controller) => {
                let mut vars = vars;
                controller.fill(&mut vars);
                sets.render("controller", &vars)?
            }
            Table::Webhook(table) => webhook(table, project, sets, vars)?,
        };
        all.push((Source::Table(at), parts));
    }
    Ok(all)
}

fn head(
    project: &Project,
    release: &Release,
    sets: &Sets,
    vars: &Vars,
) -> anyhow::Result<Vec<Part>> {
    let mut parts = sets.render("init", vars)?;
    let license = &project.head.license;
    if !["", "none"].contains(&license.as_str()) {
        parts.extend(sets.render(&format!("license-{license}"), vars)?);
    }
    // Once cargo has resolved another crate, the lock is the user's.
    let policy = if project.tables.iter().any(Table::is_external) {
        Policy::Once
    } else {
        Policy::Owned
    };
    parts.push(Part::Whole {
        path: "Cargo.lock".to_owned(),
        policy,
        text: lock::named(&release.lock, &project.head.name),
    });
    parts.extend(release.library.iter().map(|(path, text)| Part::Whole {
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
) -> anyhow::Result<Vec<Part>> {
    webhook.fill(&mut vars);
    webhook.fill_calls(&mut vars);
    "webhook-self-signed".clone_into(&mut vars.webhook_component);
    let mut parts = sets.render("webhook", &vars)?;
    for version in &webhook.spokes {
        let mut versions = project.versions(&webhook.target);
        if let Some(spoke) = versions.find(|api| api.version == *version) {
            fill_spoke(&mut vars, &webhook.target, spoke);
            parts.extend(sets.render("conversion", &vars)?);
        }
    }
    Ok(parts)
}

/// What templates may use of `spoke`, a version that is converted to and from `hub`.
fn fill_spoke(vars: &mut Vars, hub: &Target, spoke: &Resource) {
    vars.hub_version.clone_from(&hub.version);
    vars.version.clone_from(&spoke.version);
    vars.type_path = spoke.type_path();
    // `CaptainV1alpha1`
    vars.spoke_alias = format!("{}{}", spoke.kind, spoke.version.replacen('v', "V", 1));
}
