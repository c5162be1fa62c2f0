//! The Deployment that is replaced, and the Pods that it has.

use apiserver_rules::Operator;
use serde_json::Value;

use super::webhooks::CONFIGURATIONS;
use super::{Get, Line, Successor, list, meta, name};

/// Whether the Deployment can be replaced in place. Returns the one that is.
pub fn check(
    project: &Successor<'_>,
    get: Get<'_>,
    lines: &mut Vec<Line>,
) -> anyhow::Result<Option<Value>> {
    let namespace = project.namespace;
    let Some(ours) = Operator::find(project.rendered) else {
        lines.push(Line::note(
            "`config/default` renders no Deployment".to_owned(),
            "compare the selector of yours by hand: it is immutable",
        ));
        return Ok(None);
    };
    let (ours, wanted) = (ours.deployment, name(ours.deployment));
    let found = get(&["deployments.apps", "--all-namespaces"])?;
    let (here, elsewhere): (Vec<_>, Vec<_>) = found
        .iter()
        .partition(|it| meta(it, "namespace") == namespace);
    let Some(theirs) = here.iter().find(|it| name(it) == wanted) else {
        lines.push(missing(namespace, wanted, &here, &elsewhere));
        return Ok(None);
    };
    lines.push(selector(wanted, theirs, ours));
    lines.extend(containers(wanted, theirs, ours));
    lines.extend(account(theirs, ours));
    lines.extend(switch(project, theirs));
    Ok(Some((*theirs).clone()))
}

fn missing(namespace: &str, wanted: &str, here: &[&Value], elsewhere: &[&Value]) -> Line {
    let manager = |it: &&&Value| it["metadata"]["labels"]["control-plane"] == "controller-manager";
    if let Some(other) = here.iter().find(manager) {
        return Line::wrong(
            format!(
                "the operator in Go is the Deployment `{}`, and this project's is `{wanted}`: both would run",
                name(other)
            ),
            "delete the old one right before you deploy",
        );
    }
    if let Some(other) = elsewhere.iter().find(|it| name(it) == wanted) {
        let other = meta(other, "namespace");
        return Line::wrong(
            format!(
                "the Deployment `{wanted}` runs in the namespace `{other}`, and this project in `{namespace}`, with a Lease of its own: both would lead"
            ),
            &format!(
                "`kubectl -n {other} delete deployment {wanted}` right before you deploy, or import the project again with `namespace = \"{other}\"`"
            ),
        );
    }
    Line::note(
        format!("`{namespace}` has no Deployment `{wanted}`"),
        "if the operator in Go runs elsewhere, stop it before you deploy",
    )
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

/// Webhooks of an operator whose variable switches their server off.
fn switch(project: &Successor<'_>, theirs: &Value) -> Option<Line> {
    let all = list(&pod(theirs)["containers"]).flat_map(|it| list(&it["env"]));
    let mut off = all.filter(|it| it["name"] == "ENABLE_WEBHOOKS" && it["value"] == "false");
    let has_webhooks = CONFIGURATIONS
        .iter()
        .any(|it| project.of_kind(it).next().is_some());
    (off.next().is_some() && has_webhooks).then(|| {
        Line::wrong(
            "the operator in Go runs with `ENABLE_WEBHOOKS=false`, and this project deploys webhooks".to_owned(),
            "remove `../webhook` from `config/default/kustomization.yaml`, unless you want the new operator to serve them",
        )
    })
}
