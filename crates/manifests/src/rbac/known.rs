//! Finds unknown verbs and resources, and suggests the nearest name.

use std::collections::BTreeSet;

use crd_lint::nearest;

use crate::problem::{self, Problem};
use kbr_scaffold::resource::kubernetes;

type Names = BTreeSet<String>;

/// Verbs of Kubernetes' own APIs, and of non-resource URLs.
const VERBS: [&str; 21] = [
    "*",
    "approve",
    "attest",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "head",
    "impersonate",
    "list",
    "options",
    "patch",
    "post",
    "proxy",
    "put",
    "sign",
    "update",
    "use",
    "watch",
];

/// The prefixes of the verbs of constrained impersonation: `impersonate:user-info`, `impersonate-on:user-info:list`.
const PREFIXES: [&str; 2] = ["impersonate:", "impersonate-on:"];

/// Resources of Kubernetes that cannot be listed and therefore are not in the table of kinds: reviews, and resources
/// that occur only in roles (for `impersonate`, `approve`, `sign`).
const UNLISTED: [(&str, &str); 12] = [
    ("", "bindings"),
    ("", "groups"),
    ("", "users"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("certificates.k8s.io", "signers"),
];

/// Verbs that the groups of Kubernetes do not have, or that look like a typo. Other groups may have verbs of their own,
/// so a word that resembles no known verb is accepted there.
pub fn unknown_verbs(groups: &Names, verbs: &Names) -> Vec<Problem> {
    let own = |group: &String| !group.contains('.') || group.ends_with(".k8s.io");
    let known_group = groups.is_empty() || groups.iter().any(own);
    let is_known = |verb: &str| {
        VERBS.contains(&verb) || PREFIXES.iter().any(|prefix| verb.starts_with(prefix))
    };
    let unknown = verbs
        .iter()
        .filter(|verb| !verb.is_empty() && !is_known(verb));
    unknown
        .filter_map(|verb| {
            let near = nearest(verb, VERBS.into_iter().filter(|known| *known != "*"));
            (known_group || near.is_some()).then(|| {
                let problem = Problem::new(format!("unknown verb `{verb}`")).did_you_mean(near);
                problem::or_newer(problem, "unknown-verb")
            })
        })
        .collect()
}

/// Resources that none of the groups has. Only the groups of Kubernetes are known completely, so nothing is reported if there is
/// any other group. A group in `own` (the project's kinds, as group and plural) may have more kinds, so only typos are reported there.
pub fn unknown_resources(
    groups: &Names,
    resources: &Names,
    own: &[(String, String)],
) -> Vec<Problem> {
    let listed = kubernetes::kinds().map(|kind| (kind.group, kind.plural));
    let known: Vec<(&str, &str)> = listed.chain(UNLISTED).collect();
    let is_known = |group: &String| known.iter().any(|(known, _)| known == group);
    let is_own = |group: &String| own.iter().any(|(own, _)| own == group);
    if groups.is_empty() || !groups.iter().all(|group| is_known(group) || is_own(group)) {
        return Vec::new();
    }
    let all_known = groups.iter().all(is_known);
    let own = own
        .iter()
        .map(|(group, plural)| (group.as_str(), plural.as_str()));
    let here: Vec<&str> = known
        .iter()
        .copied()
        .chain(own)
        .filter(|(group, _)| groups.contains(*group))
        .map(|(_, plural)| plural)
        .collect();
    let names = resources
        .iter()
        .filter(|name| !name.contains('*') && !name.is_empty());
    names
        .filter_map(|resource| {
            let name = resource.split('/').next().unwrap_or_default();
            if here.contains(&name) {
                return None;
            }
            let problem = Problem::new(format!(
                "`{name}` is not a resource of {}",
                shown_all(groups)
            ));
            if let Some(near) = nearest(name, here.iter().copied()) {
                let problem = problem.did_you_mean(Some(near));
                return Some(problem::or_newer(problem, "unknown-resource"));
            }
            let elsewhere = known.iter().find(|(_, known)| *known == name);
            let problem = match elsewhere {
                Some((group, _)) => problem.help(format!("it is in `groups={}`", shown(group))),
                None => problem,
            };
            all_known.then(|| problem::or_newer(problem, "unknown-resource"))
        })
        .collect()
}

fn shown_all(groups: &Names) -> String {
    let names: Vec<String> = groups
        .iter()
        .map(|group| format!("`{}`", shown(group)))
        .collect();
    format!("group {}", names.join(" or "))
}

fn shown(group: &str) -> &str {
    if group.is_empty() { "core" } else { group }
}
