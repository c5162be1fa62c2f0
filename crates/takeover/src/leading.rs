//! Who leads, and the Deployment that is replaced.

use serde_json::Value;

use super::{Get, Line, Successor, list, name};

/// Whether the running operator leads by the Lease that the project waits for.
pub fn lease(project: &Successor<'_>, get: Get<'_>) -> anyhow::Result<Line> {
    let wanted = wanted_lease(project);
    let namespace = project.namespace;
    let leases = get(&["leases.coordination.k8s.io", "--namespace", namespace])?;
    let holder = |lease: &Value| {
        let holder = lease["spec"]["holderIdentity"].as_str();
        holder
            .filter(|holder| !holder.is_empty())
            .map(str::to_owned)
    };
    let is_wanted = |lease: &&Value| name(lease) == wanted;
    if let Some(lease) = leases.iter().find(is_wanted) {
        return Ok(match holder(lease) {
            Some(holder) => Line::note(
                format!("the Lease `{wanted}` is held by `{holder}`"),
                "the new operator waits until it ends: `make deploy` replaces its Deployment; stop one that runs elsewhere",
            ),
            None => Line::good(format!("the Lease `{wanted}` is free")),
        });
    }
    let pods = project.of_kind("Deployment").next().map(name);
    let is_ours = |holder: &str| pods.is_some_and(|pods| holder.starts_with(pods));
    let mut others = leases.iter().filter_map(|it| Some((name(it), holder(it)?)));
    Ok(match others.find(|(_, holder)| is_ours(holder)) {
        Some((other, holder)) => Line::wrong(
            format!(
                "`{holder}` leads by the Lease `{other}`, and this project by `{wanted}`: both would lead"
            ),
            "import the project again with `--leader-election-id`, or set that name in `src/main.rs`, in `config/rbac/leader_election_role.yaml` and as `lease` of `[names]` in PROJECT",
        ),
        None => Line::note(
            format!("`{namespace}` has no Lease `{wanted}`"),
            "if the operator in Go runs without leader election, stop it before you deploy",
        ),
    })
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

/// Whether the Deployment can be replaced in place.
pub fn deployment(project: &Successor<'_>, get: Get<'_>) -> anyhow::Result<Line> {
    let namespace = project.namespace;
    let found = get(&["deployments.apps", "--namespace", namespace])?;
    let Some(ours) = project.of_kind("Deployment").next() else {
        return Ok(Line::note(
            "`config/default` renders no Deployment".to_owned(),
            "compare the selector of yours by hand: it is immutable",
        ));
    };
    let wanted = name(ours);
    let Some(theirs) = found.iter().find(|it| name(it) == wanted) else {
        return Ok(missing(namespace, wanted, &found));
    };
    let selector = |it: &Value| it["spec"]["selector"].clone();
    if selector(theirs) == selector(ours) {
        return Ok(Line::good(format!(
            "the Deployment `{wanted}` has the same selector"
        )));
    }
    let labels = &theirs["spec"]["selector"]["matchLabels"];
    Ok(Line::wrong(
        format!("the selector of the Deployment `{wanted}` is {labels}, and cannot change"),
        "write it into `config/manager/manager.yaml`: `matchLabels`, and the labels of the Pods",
    ))
}

fn missing(namespace: &str, wanted: &str, found: &[Value]) -> Line {
    let manager = |it: &&Value| it["metadata"]["labels"]["control-plane"] == "controller-manager";
    match found.iter().find(manager) {
        Some(other) => Line::wrong(
            format!(
                "the operator in Go is the Deployment `{}`, and this project's is `{wanted}`: both would run",
                name(other)
            ),
            "delete the old one right before you deploy",
        ),
        None => Line::note(
            format!("`{namespace}` has no Deployment `{wanted}`"),
            "if the operator in Go runs elsewhere, stop it before you deploy",
        ),
    }
}
