//! What the running operator may do, and the project may not.

use std::collections::{BTreeMap, BTreeSet};

use super::{Get, Line, Successor};
use kbr_manifests::audit::{Access, permissions};
use kbr_manifests::overlay::Identity;

/// The most resources that are named.
const MOST: usize = 10;

/// Compares the roles that are bound to both `ServiceAccount`s.
pub fn check(
    project: &Successor<'_>,
    running: &Identity,
    get: Get<'_>,
) -> anyhow::Result<Option<Line>> {
    let mut roles = Vec::new();
    for resource in [
        "clusterroles",
        "clusterrolebindings",
        "roles",
        "rolebindings",
    ] {
        let resource = format!("{resource}.rbac.authorization.k8s.io");
        roles.extend(get(&[&resource, "--all-namespaces"])?);
    }
    let theirs = permissions(&roles, running, &[]);
    let Ok(ours) = Identity::of(project.rendered) else {
        return Ok(None);
    };
    let ours = permissions(project.rendered, &ours, &[]);
    let mut lost: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for theirs in theirs.iter().filter(|it| it.is_missing(&ours)) {
        let Access {
            group,
            resource,
            url,
            verb,
            ..
        } = &theirs.access;
        if is_of_go(&theirs.access) {
            continue;
        }
        let what = match (group.as_str(), resource.as_str()) {
            ("", "") => url.clone(),
            ("", resource) => resource.to_owned(),
            (group, resource) => format!("{resource}.{group}"),
        };
        lost.entry(what).or_default().insert(verb);
    }
    if lost.is_empty() {
        return Ok(None);
    }
    let named = lost.iter().take(MOST).map(|(what, verbs)| {
        let verbs: Vec<_> = verbs.iter().copied().collect();
        format!("{} {what}", verbs.join(", "))
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if let Some(more @ 1..) = lost.len().checked_sub(MOST) {
        text = format!("{text}; and {more} more");
    }
    Ok(Some(Line::note(
        format!("the operator in Go has permissions that this project does not have: {text}"),
        "add a `+kbr:rbac` comment for each that the ported code needs",
    )))
}

/// Whether only an operator in Go needs it: kbr's applies need no `update`, its status is written by a patch, its events have a group of
/// their own, and its Lease a role.
fn is_of_go(asked: &Access) -> bool {
    let reads_status = asked.verb == "get" && asked.resource.ends_with("/status");
    let is_core_event = asked.group.is_empty() && asked.resource == "events";
    asked.verb == "update" || asked.resource == "leases" || reads_status || is_core_event
}
