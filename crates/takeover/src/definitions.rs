//! The CRDs of the cluster, and those of the project.

use crd_lint::{Severity, compatibility};
use serde_json::Value;

use super::{Get, Line, Successor, list, name};

/// Compares each CRD; returns those that are installed.
pub fn check<'a>(
    project: &Successor<'a>,
    get: Get<'_>,
    lines: &mut Vec<Line>,
) -> anyhow::Result<Vec<&'a str>> {
    let mut installed = Vec::new();
    for ours in project.of_kind("CustomResourceDefinition") {
        let wanted = name(ours);
        let found = get(&["customresourcedefinitions.apiextensions.k8s.io", wanted])?;
        let Some(theirs) = found.first() else {
            lines.push(Line::note(
                format!("the cluster has no CRD `{wanted}`"),
                "`make deploy` installs it",
            ));
            continue;
        };
        installed.push(wanted);
        lines.push(compared(wanted, theirs, ours));
        lines.extend(conversion(wanted, theirs, ours));
    }
    Ok(installed)
}

fn compared(wanted: &str, theirs: &Value, ours: &Value) -> Line {
    let found = compatibility::compare(theirs, ours);
    let errors: Vec<_> = found
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .collect();
    if let Some(first) = errors.first() {
        let (count, message) = (errors.len(), &first.message);
        return Line::wrong(
            format!("the CRD `{wanted}` has {count} incompatible changes: {message}"),
            "`kbr manifests compare cluster` lists all, with their lines",
        );
    }
    if let Some(version) = lost(theirs, ours) {
        return Line::wrong(
            format!(
                "objects of `{wanted}` may be stored as `{version}`, which this project does not have"
            ),
            "let the operator in Go migrate them first, or import that version, too",
        );
    }
    let schemas = |crd: &Value| {
        let schema = |version: &Value| (version["name"].clone(), version["schema"].clone());
        let mut all: Vec<_> = list(&crd["spec"]["versions"]).map(schema).collect();
        all.sort_by_key(|(name, _)| name.to_string());
        all
    };
    if schemas(theirs) == schemas(ours) {
        return Line::good(format!(
            "the CRD `{wanted}` has the same versions and schemas"
        ));
    }
    Line::note(
        format!("the CRD `{wanted}` differs, in a way that stored objects survive"),
        "`kbr manifests compare cluster` lists what matters",
    )
}

/// A version in which objects are stored, and which the project does not have.
fn lost<'a>(theirs: &'a Value, ours: &Value) -> Option<&'a str> {
    let has = |version: &&Value| list(&ours["spec"]["versions"]).any(|it| it["name"] == **version);
    let mut stored = list(&theirs["status"]["storedVersions"]).filter(|it| !has(it));
    stored.next()?.as_str()
}

/// Who converts between the versions.
fn conversion(wanted: &str, theirs: &Value, ours: &Value) -> Option<Line> {
    let is_webhook = |crd: &Value| crd["spec"]["conversion"]["strategy"] == "Webhook";
    let service =
        |crd: &Value| crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"].clone();
    match (is_webhook(theirs), is_webhook(ours)) {
        (true, false) => Some(Line::wrong(
            format!(
                "the operator in Go converts the versions of `{wanted}`, and this project does not"
            ),
            "create the webhook: `kbr create webhook --conversion`",
        )),
        (false, true) => Some(Line::note(
            format!(
                "the versions of `{wanted}` have the same fields in the cluster, and this project converts them"
            ),
            "remove the conversion if the operator in Go has none: while no Pod is ready, requests in other versions than the stored one fail",
        )),
        (true, true) if service(theirs)["name"] != service(ours)["name"] => Some(Line::note(
            format!(
                "the versions of `{wanted}` are converted by the Service `{}`",
                service(theirs)["name"].as_str().unwrap_or_default()
            ),
            "`make deploy` sets the new Service; until its Pod is ready, requests in other versions fail and are tried again",
        )),
        _ => None,
    }
}
