//! The admission webhooks of the running operator.

use serde_json::Value;

use super::{Get, Line, Successor, list, name};

/// The kinds of webhook configurations.
pub const CONFIGURATIONS: [&str; 2] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// What cert-manager's CA injector reads.
const INJECTED: &str = "cert-manager.io/inject-ca-from";

/// Compares the webhooks that call the operator's namespace with those of the project.
pub fn check(project: &Successor<'_>, get: Get<'_>, lines: &mut Vec<Line>) -> anyhow::Result<()> {
    for kind in CONFIGURATIONS {
        let resource = format!("{}s.admissionregistration.k8s.io", kind.to_lowercase());
        let found = get(&[&resource])?;
        lines.extend(project.of_kind(kind).filter_map(|ours| new(ours, &found)));
        for theirs in &found {
            let is_here = |it: &Value| service(it)["namespace"] == project.namespace;
            let called: Vec<_> = list(&theirs["webhooks"]).filter(|it| is_here(it)).collect();
            if called.is_empty() {
                continue;
            }
            let ours = project.of_kind(kind).find(|it| name(it) == name(theirs));
            lines.extend(compared(theirs, &called, ours));
        }
    }
    Ok(())
}

/// A configuration that the cluster does not have, so that its webhooks call the operator for the first time.
fn new(ours: &Value, found: &[Value]) -> Option<Line> {
    let known = |label: &Value| {
        let mut all = found.iter().flat_map(|it| list(&it["webhooks"]));
        all.any(|it| it["name"] == *label)
    };
    let new = list(&ours["webhooks"]).filter(|it| !known(&it["name"]));
    let mut new = new.map(|it| (text(&it["name"]), it["failurePolicy"] != "Ignore"));
    let (label, fails) = new.next()?;
    let more = match new.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let while_down = if fails {
        "rejects these requests while no Pod is ready"
    } else {
        "accepts these requests while no Pod is ready"
    };
    Some(Line::note(
        format!(
            "`{}` adds the webhook `{label}`{more}, which the cluster does not have",
            name(ours)
        ),
        &format!(
            "the API server {while_down}; remove its `+kbr:webhook` comment if it is not wanted"
        ),
    ))
}

fn service(webhook: &Value) -> &Value {
    &webhook["clientConfig"]["service"]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn compared(theirs: &Value, called: &[&Value], ours: Option<&Value>) -> Vec<Line> {
    let Some(ours) = ours else {
        return vec![unknown(theirs, called)];
    };
    let webhooks = called.iter().map(|webhook| one(theirs, webhook, ours));
    webhooks.chain(injected(theirs, ours)).collect()
}

/// A configuration that the project does not have.
fn unknown(theirs: &Value, called: &[&Value]) -> Line {
    let (configuration, kind) = (name(theirs), text(&theirs["kind"]).to_lowercase());
    let called = called.first().map_or("", |it| text(&service(it)["name"]));
    Line::note(
        format!("`{configuration}` calls `{called}`, and is not one of this project"),
        &format!(
            "`kubectl delete {kind} {configuration}` right after the deployment: until then, the API server rejects the requests for which it is called, unless its `failurePolicy` is `Ignore`"
        ),
    )
}

/// One webhook of a configuration that both have.
fn one(theirs: &Value, webhook: &Value, ours: &Value) -> Line {
    let (configuration, label) = (name(theirs), text(&webhook["name"]));
    let mut ours = list(&ours["webhooks"]);
    let Some(new) = ours.find(|it| it["name"] == webhook["name"]) else {
        return Line::wrong(
            format!(
                "`{configuration}` has the webhook `{label}`, which this project does not have and `make deploy` keeps"
            ),
            &format!(
                "delete `{configuration}` right before you deploy, or give a `+kbr:webhook` comment this name"
            ),
        );
    };
    let (old, new) = (text(&service(webhook)["name"]), text(&service(new)["name"]));
    if old == new {
        return Line::good(format!("the webhook `{label}` calls the Service `{old}`"));
    }
    Line::note(
        format!("the webhook `{label}` calls the Service `{old}`, and later `{new}`"),
        "`make deploy` changes it; delete the old Service afterwards",
    )
}

/// Whether cert-manager and the operator would write the same CA bundles.
fn injected(theirs: &Value, ours: &Value) -> Option<Line> {
    let from = |it: &Value| it["metadata"]["annotations"][INJECTED].clone();
    if from(theirs).is_null() || !from(ours).is_null() {
        return None;
    }
    let (from, configuration) = (from(theirs), name(theirs));
    Some(Line::wrong(
        format!(
            "cert-manager writes the CA of `{}` into `{configuration}`, and the operator its own",
            text(&from)
        ),
        "use the component `webhook-certmanager`, or remove that annotation when you deploy",
    ))
}
