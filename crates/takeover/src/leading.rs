//! Who leads.

use apiserver_rules::Operator;
use serde_json::Value;

use super::{Get, Line, Successor, list, meta, name};

/// Whether the running operator leads by the Lease that the project waits for.
pub fn lease(project: &Successor<'_>, get: Get<'_>) -> anyhow::Result<Line> {
    let wanted = wanted_lease(project);
    let namespace = project.namespace;
    let leases = get(&["leases.coordination.k8s.io", "--all-namespaces"])?;
    let holder = |lease: &Value| {
        let holder = lease["spec"]["holderIdentity"].as_str();
        holder
            .filter(|holder| !holder.is_empty())
            .map(str::to_owned)
    };
    let is_here = |lease: &&Value| meta(lease, "namespace") == namespace;
    let is_wanted = |lease: &&Value| name(lease) == wanted;
    if let Some(lease) = leases.iter().filter(is_here).find(is_wanted) {
        return Ok(match holder(lease) {
            Some(holder) => Line::note(
                format!("the Lease `{wanted}` is held by `{holder}`"),
                "the new operator waits until it ends: `make deploy` replaces its Deployment; stop one that runs elsewhere",
            ),
            None => Line::good(format!("the Lease `{wanted}` is free")),
        });
    }
    let pods = Operator::find(project.rendered).map(|it| name(it.deployment));
    let is_ours = |holder: &str| pods.is_some_and(|pods| holder.starts_with(pods));
    let mut others = leases.iter().filter_map(|it| Some((it, holder(it)?)));
    Ok(
        match others.find(|(it, holder)| is_wanted(it) || is_ours(holder)) {
            Some((other, holder)) => Line::wrong(
                format!(
                    "`{holder}` leads by the Lease `{}` in `{}`, and this project by `{wanted}` in `{namespace}`: both would lead",
                    name(other),
                    meta(other, "namespace")
                ),
                "import the project again with `--leader-election-id`, or set that name in `src/main.rs`, in `config/rbac/leader_election_role.yaml` and as `lease` of `[names]` in PROJECT",
            ),
            None => Line::note(
                format!("`{namespace}` has no Lease `{wanted}`"),
                "if the operator in Go runs without leader election, stop it before you deploy",
            ),
        },
    )
}

/// The Lease that the operator may update.
fn wanted_lease<'a>(project: &Successor<'a>) -> &'a str {
    let rules = project
        .of_kind("Role")
        .flat_map(|role| list(&role["rules"]));
    let mut of_leases = rules.filter(|rule| list(&rule["resources"]).any(|it| it == "leases"));
    let named = of_leases.find_map(|rule| rule["resourceNames"][0].as_str());
    named.unwrap_or(project.id)
}
