//! The rendered roles of the operator -> its permissions, each with the marker or role that grants it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use serde_json::Value;

use super::access::Access;
use crate::overlay::Identity;
use crate::rbac::{Rule, Source};

/// What grants a permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `src/controllers/captain.rs:12`, or several.
    Markers(String),
    /// A role without markers: ``ClusterRole `crew-metrics-auth-role` ``.
    Role(String),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Markers(text) | Self::Role(text)) = self;
        f.write_str(text)
    }
}

/// One permission of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What grants it.
    pub at: Place,
    /// What it allows.
    pub access: Access,
    /// The namespaces in which it is granted; an empty name for all.
    namespaces: BTreeSet<String>,
}

impl Permission {
    /// The namespaces in which it is granted; an empty name for all.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.iter().map(String::as_str)
    }

    /// Whether `granted` does not allow the same in the same namespaces.
    pub fn is_missing(&self, granted: &[Self]) -> bool {
        let is_covered = |namespace: &String| {
            let mut here = granted
                .iter()
                .filter(|it| it.namespaces.contains("") || it.namespaces.contains(namespace));
            here.any(|it| it.access.covers(&self.access))
        };
        !self.namespaces.iter().all(is_covered)
    }

    /// Whether it allows this to the operator's `ServiceAccount` in the namespace `home`. A test has the operator's Roles there,
    /// instead of in the operator's own namespace and those that it watches.
    pub fn covers(&self, asked: &Access, namespace: &str, home: &str) -> bool {
        let is_here =
            |granted: &String| granted.is_empty() || granted == namespace || home == namespace;
        self.namespaces.iter().any(is_here) && self.access.covers(asked)
    }
}

/// The permissions of the roles among `objects` that are bound to the `ServiceAccount`, sorted: first those of markers. Roles that are
/// not among the objects are left out.
pub fn permissions(objects: &[Value], identity: &Identity, sources: &[Source]) -> Vec<Permission> {
    let mut found: BTreeMap<(Place, Access), BTreeSet<String>> = BTreeMap::new();
    for binding in objects.iter().filter(|object| identity.is_bound_by(object)) {
        let Some(role) = objects.iter().find(|role| refers(binding, role)) else {
            continue;
        };
        let namespace = text(&binding["metadata"]["namespace"]);
        for access in role["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(accesses)
        {
            let at = location(role, &access, sources);
            let namespaces = found.entry((at, access)).or_default();
            namespaces.insert(namespace.to_owned());
        }
    }
    let permission = |((at, access), namespaces)| Permission {
        at,
        access,
        namespaces,
    };
    found.into_iter().map(permission).collect()
}

/// Whether the binding is of this role.
pub fn refers(binding: &Value, role: &Value) -> bool {
    let (reference, meta) = (&binding["roleRef"], &role["metadata"]);
    reference["kind"] == role["kind"]
        && reference["name"] == meta["name"]
        && (role["kind"] == "ClusterRole" || binding["metadata"]["namespace"] == meta["namespace"])
}

/// Each verb of a rule, in the form of the API, on each of its resources, names and URLs.
pub fn accesses(rule: &Value) -> Vec<Access> {
    let list = |key: &str| -> Vec<String> {
        let values = rule[key].as_array().into_iter().flatten();
        values.map(|value| text(value).to_owned()).collect()
    };
    let (verbs, mut names) = (list("verbs"), list("resourceNames"));
    if names.is_empty() {
        names.push(String::new());
    }
    let mut objects: Vec<Access> = Vec::new();
    for group in &list("apiGroups") {
        for resource in &list("resources") {
            objects.extend(names.iter().map(|name| Access {
                group: group.clone(),
                resource: resource.clone(),
                name: name.clone(),
                ..Access::default()
            }));
        }
    }
    objects.extend(list("nonResourceURLs").into_iter().map(|url| Access {
        url,
        ..Access::default()
    }));
    let with = |object: &Access, verb: &String| Access {
        verb: verb.clone(),
        ..object.clone()
    };
    objects
        .iter()
        .flat_map(|object| verbs.iter().map(|verb| with(object, verb)))
        .collect()
}

/// The markers that grant it in this role; the role itself if there are none.
fn location(role: &Value, access: &Access, sources: &[Source]) -> Place {
    let (name, namespace) = (&role["metadata"]["name"], &role["metadata"]["namespace"]);
    let in_role = |source: &&Source| {
        // `config/namespaced` has the rules for the whole cluster in a Role.
        let here = source.namespace.is_empty() || *namespace == source.namespace.as_str();
        here && *name == source.role.as_str() && has(&source.rule, access)
    };
    let places: Vec<&str> = sources
        .iter()
        .filter(in_role)
        .map(|source| source.at.as_str())
        .collect();
    if places.is_empty() {
        return Place::Role(format!("{} `{}`", text(&role["kind"]), text(name)));
    }
    Place::Markers(places.join(", "))
}

fn has(rule: &Rule, access: &Access) -> bool {
    rule.verbs.contains(&access.verb)
        && if access.resource.is_empty() {
            rule.urls.contains(&access.url)
        } else {
            rule.groups.contains(&access.group)
                && rule.resources.contains(&access.resource)
                && (rule.names.contains(&access.name)
                    || access.name.is_empty() && rule.names.is_empty())
        }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
