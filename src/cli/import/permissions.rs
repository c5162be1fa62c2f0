//! Permissions that controller-gen accepts and the linter of `kbr manifests` does not: they are taken over as they are, and allowed.

use std::collections::BTreeSet;

use apiserver_rules::rbac;
use kbr_scaffold::golang::{Found, Marker, deployed};

/// Allows what the linter finds about the permissions, and leaves out those that grant nothing. Returns a note for each.
pub fn check(found: &mut Found) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(add_by_hand(found));
    let own = own(found);
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    found.permissions.retain_mut(|marker| {
        marker.replace("groups=", "groups=core");
        let mut is_valid = true;
        for problem in kbr_manifests::permission(&marker.path, &marker.line(), &own) {
            let text = problem.text();
            if let Some(id) = problem.id() {
                note(format!(
                    "{text}; the permission is taken over as it is, with `+kbr:lint:allow={id}`"
                ));
                marker.allowed.insert(id);
            } else {
                note(format!("not taken over: a permission. {text}"));
                is_valid = false;
            }
        }
        is_valid
    });
    notes
}

/// The resources of the project's own kinds, as group and plural.
fn own(found: &Found) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for definition in &found.definitions {
        let versions = &definition.versions;
        let below = [
            ("/status", versions.iter().any(|it| it.has_status)),
            ("/scale", versions.iter().any(|it| it.scale.is_some())),
            ("/finalizers", true),
            ("", true),
        ];
        for (below, _) in below.into_iter().filter(|(_, has)| *has) {
            let name = format!("{}{below}", definition.plural);
            all.push((definition.group.clone(), name));
        }
    }
    all
}

/// Adds the permissions of roles that no comment generates, but a person wrote. Returns a note about them.
fn add_by_hand(found: &mut Found) -> Option<String> {
    let granted: Vec<Rule> = found.permissions.iter().map(Rule::of).collect();
    let mut by_hand = deployed::permissions(found);
    let mut left = MOST;
    by_hand.retain(|marker| {
        let wanted = Rule::of(marker);
        let Some(rest) = left.checked_sub(wanted.size().saturating_mul(granted.len())) else {
            return true;
        };
        left = rest;
        let mut parts = wanted.parts().into_iter();
        !parts.all(|part| granted.iter().any(|it| it.allows(&part)))
    });
    let paths: BTreeSet<String> = by_hand.iter().map(|it| it.path.to_string()).collect();
    found.permissions.extend(by_hand);
    found.permissions.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = paths.iter().map(|it| format!("`{it}`")).collect();
    (!paths.is_empty()).then(|| {
        format!(
            "`src/main.rs` has the permissions of roles that a person wrote, in {}: move each to the code that needs it",
            paths.join(", ")
        )
    })
}

/// How many permissions are compared with each other; those beyond it are added, which grants nothing more.
const MOST: usize = 10_000_000;

/// The words of a permission.
#[derive(Clone)]
struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    urls: Vec<String>,
    verbs: Vec<String>,
    namespace: String,
}

impl Rule {
    fn of(marker: &Marker) -> Self {
        let words = |key: &str| {
            let value = marker.value(key).unwrap_or_default();
            let words = value.split(';').map(|it| it.trim_matches('"'));
            let words = words.map(|it| {
                if key == "groups" && it == "core" {
                    ""
                } else {
                    it
                }
            });
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let given = |key: &str| match marker.value(key) {
            None => Vec::new(),
            Some(_) => words(key),
        };
        Self {
            groups: given("groups"),
            resources: given("resources"),
            names: given("resourceNames"),
            urls: given("urls"),
            verbs: given("verbs"),
            namespace: marker.value("namespace").unwrap_or_default().to_owned(),
        }
    }

    /// How many parts it has.
    fn size(&self) -> usize {
        let lists = [
            &self.groups,
            &self.resources,
            &self.names,
            &self.urls,
            &self.verbs,
        ];
        let sizes = lists.into_iter().map(|it| it.len().max(1));
        sizes.fold(1, usize::saturating_mul)
    }

    /// Rules with one group, resource, name, URL and verb each.
    fn parts(&self) -> Vec<Self> {
        let one = |all: &[String]| match all {
            [] => vec![Vec::new()],
            all => all.iter().map(|it| vec![it.clone()]).collect(),
        };
        let mut parts = vec![self.clone()];
        for (get, set) in [
            (
                (|it: &Self| it.groups.clone()) as fn(&Self) -> Vec<String>,
                (|it: &mut Self, to| it.groups = to) as fn(&mut Self, Vec<String>),
            ),
            (|it| it.resources.clone(), |it, to| it.resources = to),
            (|it| it.names.clone(), |it, to| it.names = to),
            (|it| it.urls.clone(), |it, to| it.urls = to),
            (|it| it.verbs.clone(), |it, to| it.verbs = to),
        ] {
            let split = |part: Self| {
                let values = one(&get(&part));
                values.into_iter().map(move |value| {
                    let mut part = part.clone();
                    set(&mut part, value);
                    part
                })
            };
            parts = parts.into_iter().flat_map(split).collect();
        }
        parts
    }

    /// Whether this rule allows all that `part` does, which has one word of each.
    fn allows(&self, part: &Self) -> bool {
        let allows =
            |granted: &[String], asked: &[String], test: fn(&str, &str) -> bool| match asked {
                [] => granted.is_empty(),
                asked => asked
                    .iter()
                    .all(|asked| granted.iter().any(|it| test(it, asked))),
            };
        let has_names = match &part.names[..] {
            [] => self.names.is_empty(),
            [name, ..] => rbac::allows_name(&self.names, name),
        };
        (self.namespace.is_empty() || self.namespace == part.namespace)
            && has_names
            && allows(&self.verbs, &part.verbs, rbac::allows_verb)
            && allows(&self.groups, &part.groups, rbac::allows_group)
            && allows(&self.resources, &part.resources, rbac::allows_resource)
            && allows(&self.urls, &part.urls, rbac::allows_url)
    }
}
