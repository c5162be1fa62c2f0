//! Who leads, and the Deployment that is replaced.

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
    let pods = project.of_kind("Deployment").next().map(name);
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

/// Whether the Deployment can be replaced in place. Returns the one that is.
pub fn deployment(
    project: &Successor<'_>,
    get: Get<'_>,
    lines: &mut Vec<Line>,
) -> anyhow::Result<Option<Value>> {
    let namespace = project.namespace;
    let found = get(&["deployments.apps", "--all-namespaces"])?;
    let Some(ours) = project.of_kind("Deployment").next() else {
        lines.push(Line::note(
            "`config/default` renders no Deployment".to_owned(),
            "compare the selector of yours by hand: it is immutable",
        ));
        return Ok(None);
    };
    let wanted = name(ours);
    let same_name = |it: &&Value| name(it) == wanted;
    for other in found
        .iter()
        .filter(same_name)
        .map(|it| meta(it, "namespace"))
    {
        if other != namespace {
            lines.push(Line::wrong(
                format!("the Deployment `{wanted}` also runs in the namespace `{other}`, with a Lease of its own: both would lead"),
                &format!("`kubectl -n {other} delete deployment {wanted}` right before you deploy; or set `namespace = \"{other}\"` in `[names]` of PROJECT before the next import"),
            ));
        }
    }
    let here = |it: &&Value| meta(it, "namespace") == namespace;
    let Some(theirs) = found.iter().filter(here).find(same_name) else {
        let found: Vec<_> = found.iter().filter(here).collect();
        lines.push(missing(namespace, wanted, &found));
        return Ok(None);
    };
    lines.push(selector(wanted, theirs, ours));
    lines.extend(containers(wanted, theirs, ours));
    lines.extend(account(theirs, ours));
    lines.extend(switch(project, theirs));
    Ok(Some(theirs.clone()))
}

fn selector(wanted: &str, theirs: &Value, ours: &Value) -> Line {
    let selector = |it: &Value| it["spec"]["selector"].clone();
    if selector(theirs) == selector(ours) {
        return Line::good(format!("the Deployment `{wanted}` has the same selector"));
    }
    let labels = &theirs["spec"]["selector"]["matchLabels"];
    Line::wrong(
        format!("the selector of the Deployment `{wanted}` is {labels}, and cannot change"),
        "write it into `config/manager/manager.yaml`: `matchLabels`, and the labels of the Pods",
    )
}

fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

/// Containers that an apply would leave in the Pod beside ours, because the API server merges them by name.
fn containers(wanted: &str, theirs: &Value, ours: &Value) -> Option<Line> {
    let names = |it| list(&pod(it)["containers"]).map(name_of);
    let mut kept: Vec<_> = names(theirs).collect();
    kept.retain(|it| !names(ours).any(|ours| ours == *it));
    let all = (!kept.is_empty()).then(|| kept.join("`, `"))?;
    Some(Line::wrong(
        format!(
            "the Deployment `{wanted}` has the containers `{all}`, which `make deploy` would keep beside the new operator"
        ),
        "if one is the operator in Go, set its name as `container` of `[names]` in PROJECT and in `config/manager/manager.yaml`; delete the Deployment right before you deploy to lose the others",
    ))
}

fn name_of(container: &Value) -> &str {
    container["name"].as_str().unwrap_or_default()
}

/// Who the Pods are: a cloud or a role of someone else may know that name.
fn account(theirs: &Value, ours: &Value) -> Option<Line> {
    let account = |it| pod(it)["serviceAccountName"].as_str().unwrap_or("default");
    let (old, new) = (account(theirs), account(ours));
    (old != new).then(|| {
        Line::note(
            format!("the operator in Go runs as the ServiceAccount `{old}`, and this project as `{new}`"),
            "grant the new one what others have granted to the old one, such as a role of a cloud; or set `service_account` of `[names]` in PROJECT",
        )
    })
}

/// Webhooks of an operator that is told not to serve them.
fn switch(project: &Successor<'_>, theirs: &Value) -> Option<Line> {
    let all = list(&pod(theirs)["containers"]).flat_map(|it| list(&it["env"]));
    let mut off = all.filter(|it| it["name"] == "ENABLE_WEBHOOKS" && it["value"] == "false");
    let has_webhooks = WEBHOOKS
        .iter()
        .any(|it| project.of_kind(it).next().is_some());
    (off.next().is_some() && has_webhooks).then(|| {
        Line::wrong(
            "the operator in Go runs with `ENABLE_WEBHOOKS=false`, and this project deploys webhooks".to_owned(),
            "remove `../webhook` from `config/default/kustomization.yaml`, unless the new operator shall serve them",
        )
    })
}

/// The kinds of webhook configurations.
pub const WEBHOOKS: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

fn missing(namespace: &str, wanted: &str, found: &[&Value]) -> Line {
    let manager = |it: &&&Value| it["metadata"]["labels"]["control-plane"] == "controller-manager";
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
