//! The roles of a project in Go: which are the operator's, and what they grant.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::account;
use crate::golang::source::Marker;
use crate::golang::yaml::{list, text};
use crate::golang::{Found, Object};
use crate::resource::names;

/// The roles that are bound to the operator, by kind and name: the namespaces in which they are, empty for all.
pub struct Granted<'a> {
    account: &'a str,
    roles: BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> Granted<'a> {
    /// Those of a project.
    pub fn of(found: &'a Found) -> Self {
        let account = account(found);
        let mut roles: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let objects = found.rendered.objects.iter();
        for binding in objects.filter(|it| binds(it, account)) {
            let role = &binding.value["roleRef"];
            let key = (text(&role["kind"]), text(&role["name"]));
            let namespace = match binding.kind() {
                "ClusterRoleBinding" => "",
                _ => binding.namespace(),
            };
            roles.entry(key).or_default().insert(namespace);
        }
        Granted { account, roles }
    }

    /// Whether a role or binding is for the operator, or a role for the users of a kind or of its metrics, of which kbr writes its own.
    pub fn is_of_operator(&self, object: &Object) -> bool {
        const OF_USERS: [&str; 4] = [
            "-editor-role",
            "-viewer-role",
            "-admin-role",
            "metrics-reader",
        ];
        let key = (object.kind(), object.name());
        binds(object, self.account)
            || self.roles.contains_key(&key)
            || key.0.ends_with("Role") && OF_USERS.iter().any(|end| key.1.ends_with(end))
    }
}

/// Whether an object binds a role to a `ServiceAccount`.
fn binds(object: &Object, account: &str) -> bool {
    let mut subjects = list(&object.value["subjects"]);
    let is_account = |it: &Value| it["kind"] == "ServiceAccount" && it["name"] == account;
    object.kind().ends_with("Binding") && subjects.any(is_account)
}

/// Parts of the names of roles that kbr has, too: for the election of the leader, the metrics, and their old proxy.
const OWN: [&str; 3] = ["leader-election", "metrics-auth", "proxy-role"];

/// The permissions that roles by hand grant to the operator, as comments.
pub fn permissions(found: &Found) -> Vec<Marker> {
    let granted = Granted::of(found);
    let mut markers = Vec::new();
    for role in &found.rendered.objects {
        let namespaces = granted.roles.get(&(role.kind(), role.name()));
        let Some(namespaces) =
            namespaces.filter(|_| !OWN.iter().any(|it| role.name().contains(it)))
        else {
            continue;
        };
        let everywhere = namespaces.contains("").then_some("");
        let namespaces = namespaces.iter().copied();
        let namespaces = namespaces.filter(|it| everywhere.is_none() || it.is_empty());
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
