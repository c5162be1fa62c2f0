//! What the objects of the cluster carry of the running operator: finalizers, and owners of fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Get, Line, Successor, list, meta, name};

/// Finalizers of Kubernetes itself.
const BUILT_IN: [&str; 2] = ["foregroundDeletion", "orphan"];

/// Finalizers of objects that nothing in the code removes.
pub fn finalizers(
    project: &Successor<'_>,
    installed: &[&str],
    get: Get<'_>,
    lines: &mut Vec<Line>,
) -> anyhow::Result<()> {
    for resource in installed {
        let objects = get(&[resource, "--all-namespaces"])?;
        let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        for object in &objects {
            let all = list(&object["metadata"]["finalizers"]).filter_map(Value::as_str);
            let key = || format!("{}/{}", meta(object, "namespace"), name(object));
            for finalizer in all.filter(|it| !BUILT_IN.contains(it)) {
                found.entry(finalizer).or_insert_with(|| (0, key())).0 += 1;
            }
        }
        for (finalizer, (count, first)) in found {
            let count = format!("{count} of {} {resource} have", objects.len());
            let is_known = project
                .finalizers
                .contains(&format!("{resource}={finalizer}"));
            lines.push(if is_known {
                Line::good(format!("{count} the finalizer `{finalizer}`, which the code sets"))
            } else {
                let first = first.trim_start_matches('/');
                Line::wrong(
                    format!("{count} the finalizer `{finalizer}`, as `{first}`, and no controller removes it"),
                    &format!("if it is the operator's, add `.finalizer(\"{finalizer}\", cleanup)` to its controller"),
                )
            });
        }
    }
    Ok(())
}

/// API groups whose objects are not children.
const NOT_CHILDREN: [&str; 6] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
];

/// Field managers of Kubernetes and of its users.
fn is_another(manager: &str) -> bool {
    manager.starts_with("kube") || manager.is_empty()
}

/// Who owns fields of children, besides the project itself.
pub fn owners(project: &Successor<'_>, get: Get<'_>, lines: &mut Vec<Line>) -> anyhow::Result<()> {
    let before = lines.len();
    for resource in children(project) {
        let objects = get(&[&resource, "--all-namespaces", "--show-managed-fields"])?;
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for object in objects.iter().filter(|it| is_child(project, it)) {
            let of_object = |entry: &&Value| entry["subresource"].as_str().is_none();
            let entries = list(&object["metadata"]["managedFields"]).filter(of_object);
            let managers = entries.filter_map(|entry| entry["manager"].as_str());
            for manager in managers.collect::<BTreeSet<_>>() {
                *found.entry(manager).or_default() += 1;
            }
        }
        let is_ours = |manager: &str| {
            let rest = manager.strip_prefix(project.id);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        for (manager, count) in found {
            if !is_ours(manager) && !is_another(manager) {
                lines.push(owner(project, &resource, manager, count));
            }
        }
    }
    if lines.len() == before {
        lines.push(Line::good(
            "no child has fields of another operator".to_owned(),
        ));
    }
    Ok(())
}

fn owner(project: &Successor<'_>, resource: &str, manager: &str, count: usize) -> Line {
    let text = format!("{count} children of the kind {resource} have fields of `{manager}`");
    if project.predecessors.iter().any(|it| it == manager) {
        let help = "the first apply of each takes them over; then remove that `take_over` from `src/main.rs`";
        return Line::note(text, help);
    }
    let help = format!(
        "if that is the operator in Go, add `manager.take_over(\"{manager}\");` to `src/main.rs`: else they stay when they are no longer applied"
    );
    match manager {
        "manager" => Line::wrong(text, &help),
        _ => Line::note(text, &help),
    }
}

/// The kinds that the operator may patch, as `kubectl get` names them.
fn children(project: &Successor<'_>) -> BTreeSet<String> {
    let roles = ["ClusterRole", "Role"].into_iter();
    let roles = roles.flat_map(|kind| project.of_kind(kind));
    let allowed = roles
        .filter(|it| name(it) == project.role)
        .flat_map(|role| list(&role["rules"]));
    let mut found = BTreeSet::new();
    for rule in allowed.filter(|rule| list(&rule["verbs"]).any(|it| it == "patch" || it == "*")) {
        for group in list(&rule["apiGroups"]).filter_map(Value::as_str) {
            for resource in list(&rule["resources"]).filter_map(Value::as_str) {
                let full = match group {
                    "" => resource.to_owned(),
                    group => format!("{resource}.{group}"),
                };
                let is_kind = !resource.contains(['/', '*']) && group != "*" && full != "events";
                let is_own = project.resources().any(|own| own == full);
                if is_kind && !is_own && !NOT_CHILDREN.contains(&group) {
                    found.insert(full);
                }
            }
        }
    }
    found
}

/// Whether an object of the project's kinds owns it.
fn is_child(project: &Successor<'_>, object: &Value) -> bool {
    let owned_by = |reference: &Value, crd: &Value| {
        let version = reference["apiVersion"].as_str().unwrap_or_default();
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        crd["spec"]["group"] == group && crd["spec"]["names"]["kind"] == reference["kind"]
    };
    list(&object["metadata"]["ownerReferences"]).any(|reference| {
        let mut own = project.of_kind("CustomResourceDefinition");
        own.any(|crd| owned_by(reference, crd))
    })
}
