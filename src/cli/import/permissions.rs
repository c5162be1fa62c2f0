//! Permissions that controller-gen accepts and the linter of `kbr manifests` does not: they are taken over as they are, and allowed.

use std::collections::BTreeSet;

use kbr_manifests::audit::{self, Access};
use kbr_scaffold::golang::{Found, Marker, deployed};

/// Allows what the linter finds about the permissions, and leaves out those that grant nothing. Returns a note for each.
pub fn check(found: &mut Found) -> Vec<String> {
    let mut notes: Vec<_> = add_by_hand(found).into_iter().collect();
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
    let mut by_hand = deployed::permissions(found);
    let size = |marker: &Marker| {
        LISTS
            .iter()
            .map(|it| words(marker, it.0).len().max(1))
            .product()
    };
    let all = || found.permissions.iter().chain(&by_hand).map(size);
    // Beyond it, all are added, which grants nothing more.
    if all().fold(0, usize::saturating_add) <= MOST {
        let granted: Vec<_> = found.permissions.iter().map(accesses).collect();
        let is_granted = |namespace: &str, asked: &Access| {
            let mut here = granted
                .iter()
                .filter(|it| it.0.is_empty() || it.0 == namespace);
            here.any(|it| it.1.iter().any(|it| it.covers(asked)))
        };
        by_hand.retain(|marker| {
            let (namespace, asked) = accesses(marker);
            !asked.iter().all(|it| is_granted(&namespace, it))
        });
    }
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

/// How many permissions of one verb on one resource are compared with each other.
const MOST: usize = 10_000;

/// The lists of a permission: in the comment, and in the rule of a role.
const LISTS: [(&str, &str); 5] = [
    ("groups", "apiGroups"),
    ("resources", "resources"),
    ("resourceNames", "resourceNames"),
    ("urls", "nonResourceURLs"),
    ("verbs", "verbs"),
];

fn words<'a>(marker: &'a Marker, key: &str) -> Vec<&'a str> {
    let words = marker.value(key).into_iter().flat_map(|it| it.split(';'));
    let words = words.map(|it| it.trim_matches('"'));
    words
        .map(|it| {
            if it == "core" && key == "groups" {
                ""
            } else {
                it
            }
        })
        .collect()
}

/// What a permission allows, in a namespace or, if that is empty, in all.
fn accesses(marker: &Marker) -> (String, Vec<Access>) {
    let lists = LISTS
        .iter()
        .map(|(key, field)| (*field, words(marker, key)));
    let rule: serde_json::Map<_, _> = lists
        .map(|(field, it)| (field.to_owned(), it.into()))
        .collect();
    let namespace = marker.value("namespace").unwrap_or_default();
    (namespace.to_owned(), audit::accesses(&rule.into()))
}
