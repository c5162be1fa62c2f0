//! The roles of a project in Go: which are the operator's, and what they grant.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::source::Marker;
use super::super::{Found, Object};
use super::{account, list};
use crate::resource::names;

/// Whether a role or binding is for the operator, or a role for the users of a kind or of its metrics, of which kbr writes its own.
pub fn is_of_operator(object: &Object, found: &Found, account: Option<&str>) -> bool {
    let ends = [
        "-editor-role",
        "-viewer-role",
        "-admin-role",
        "metrics-reader",
    ];
    let is_binding = object.kind().ends_with("Binding");
    if is_binding {
        return grants(object, account);
    }
    ends.iter().any(|end| object.name().ends_with(end))
        || bound(object, found).any(|binding| grants(binding, account))
}

/// The bindings of a role.
fn bound<'a>(role: &'a Object, found: &'a Found) -> impl Iterator<Item = &'a Object> {
    let objects = found.rendered.objects.iter();
    objects.filter(|it| {
        let reference = &it.value["roleRef"];
        it.kind().ends_with("Binding")
            && reference["kind"] == role.kind()
            && reference["name"] == role.name()
    })
}

/// Whether a binding is for the operator.
fn grants(binding: &Object, account: Option<&str>) -> bool {
    let subjects = binding.value["subjects"].as_array().into_iter().flatten();
    let mut accounts = subjects.filter(|it| it["kind"] == "ServiceAccount");
    account.is_some_and(|account| accounts.any(|it| it["name"] == account))
}

/// The permissions that roles by hand grant to the operator, as comments; those of the leader election, the metrics and their proxy are
/// kbr's own.
pub fn permissions(found: &Found) -> Vec<Marker> {
    let account = account(found);
    let is_own = |name: &str| {
        ["leader-election", "metrics-auth", "proxy-role"]
            .iter()
            .any(|it| name.contains(it))
    };
    let mut markers = Vec::new();
    for role in &found.rendered.objects {
        let bindings = bound(role, found).filter(|it| grants(it, account));
        let bindings: Vec<_> = bindings.collect();
        if bindings.is_empty() || !role.kind().ends_with("Role") || is_own(role.name()) {
            continue;
        }
        let everywhere = bindings.iter().any(|it| it.kind() == "ClusterRoleBinding");
        let namespaces: BTreeSet<_> = bindings.iter().map(|it| it.namespace()).collect();
        let namespaces = if everywhere { [""].into() } else { namespaces };
        for namespace in namespaces {
            for rule in list(&role.value["rules"]) {
                markers.extend(marker(&role.path, rule, namespace));
            }
        }
    }
    markers
}

/// The comment for a rule; `None` if a part of it cannot stand in a comment.
fn marker(path: &str, rule: &Value, namespace: &str) -> Option<Marker> {
    let mut arguments = Vec::new();
    for (key, field) in [
        ("groups", "apiGroups"),
        ("resources", "resources"),
        ("resourceNames", "resourceNames"),
        ("urls", "nonResourceURLs"),
        ("verbs", "verbs"),
    ] {
        let words: Option<Vec<&str>> = list(&rule[field]).map(Value::as_str).collect();
        let words = words?.into_iter().map(|it| match (field, it) {
            ("apiGroups", "") => "core",
            (_, it) => it,
        });
        let words: Vec<_> = words.collect();
        let is_clear = |it: &&str| {
            it.bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"-._/*:".contains(&it))
        };
        if !words.iter().all(is_clear) {
            return None;
        }
        if !words.is_empty() {
            arguments.push(format!("{key}={}", words.join(";")));
        }
    }
    if !namespace.is_empty() {
        names::is_subdomain(namespace).then_some(())?;
        arguments.push(format!("namespace={namespace}"));
    }
    Some(Marker {
        path: path.into(),
        name: "rbac".to_owned(),
        arguments: arguments.join(","),
        allowed: BTreeSet::new(),
    })
}
