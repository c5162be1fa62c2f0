//! Permissions -> what of a cluster an operator may read.

use std::collections::BTreeSet;

use kbr_manifests::audit::Permission;

/// Objects that an operator may read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The API group, `*` for all; empty for the core group.
    pub group: String,
    /// The name in URLs, `*` for all.
    pub plural: String,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name of the only object; empty for all.
    pub name: String,
}

/// What the permissions allow to get, list or watch.
#[must_use]
pub fn wanted(permissions: &[Permission]) -> BTreeSet<Wanted> {
    let mut all = BTreeSet::new();
    for permission in permissions {
        let access = &permission.access;
        let reads = ["get", "list", "watch", "*"].contains(&access.verb.as_str());
        if !reads || access.resource.is_empty() || access.resource.contains('/') {
            continue;
        }
        all.extend(permission.namespaces().map(|namespace| Wanted {
            group: access.group.clone(),
            plural: access.resource.clone(),
            namespace: namespace.to_owned(),
            name: access.name.clone(),
        }));
    }
    all
}

/// `pods`, `captains.crew.example.com`, as `--kinds` takes it.
#[must_use]
pub fn named(resource: &str) -> Wanted {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    Wanted {
        group: group.to_owned(),
        plural: plural.to_owned(),
        namespace: String::new(),
        name: String::new(),
    }
}

impl Wanted {
    /// Whether it is of this kind.
    #[must_use]
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        let is = |wanted: &str, found: &str| wanted == "*" || wanted == found;
        is(&self.group, group) && is(&self.plural, plural)
    }
}
