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

/// The sub-resources of Kubernetes' kinds, apart from `status` and `finalizers`, and the kinds that have them. Some occur only in roles.
const SUBRESOURCES: [(&str, &[&str]); 17] = [
    ("approval", &["certificatesigningrequests"]),
    ("attach", &["pods"]),
    ("binding", &["pods", "resourceclaims"]),
    ("driver", &["resourceclaims"]),
    ("ephemeralcontainers", &["pods"]),
    ("eviction", &["pods"]),
    ("exec", &["pods"]),
    ("finalize", &["namespaces"]),
    ("log", &["nodes", "pods"]),
    ("nodeclient", &["certificatesigningrequests"]),
    ("portforward", &["pods"]),
    ("proxy", &["nodes", "pods", "services"]),
    ("resize", &["pods"]),
    (
        "scale",
        &[
            "deployments",
            "replicasets",
            "replicationcontrollers",
            "statefulsets",
        ],
    ),
    ("selfnodeclient", &["certificatesigningrequests"]),
    ("selfnodeserver", &["certificatesigningrequests"]),
    ("token", &["serviceaccounts"]),
];

/// Groups, resources and sub-resources that do not exist. Only the groups of Kubernetes are known completely, so resources are not
/// reported if there is any other group. A group in `own` (the project's kinds, as group and plural, with their sub-resources) may have
/// more kinds, so only typos are reported there.
pub fn unknown_resources(
    groups: &Names,
    resources: &Names,
    own: &[(String, String)],
) -> Vec<Problem> {
    let listed = kubernetes::kinds().map(|kind| (kind.group, kind.plural));
    let known: Vec<(&str, &str)> = listed.chain(UNLISTED).collect();
    let is_known = |group: &String| known.iter().any(|(known, _)| known == group);
    let is_own = |group: &String| own.iter().any(|(own, _)| own == group);
    let own = own
        .iter()
        .map(|(group, plural)| (group.as_str(), plural.as_str()));
    let all: Vec<(&str, &str)> = known.iter().copied().chain(own).collect();
    let unknown = groups
        .iter()
        .filter(|group| !is_known(group) && !is_own(group));
    let unknown: Vec<&String> = unknown.collect();
    if !unknown.is_empty() || groups.is_empty() {
        return unknown
            .into_iter()
            .filter_map(|group| misspelled(group, &all))
            .collect();
    }
    let all_known = groups.iter().all(is_known);
    let here = all.iter().filter(|(group, _)| groups.contains(*group));
    let here: Vec<&str> = here.map(|(_, plural)| *plural).collect();
    let names = resources
        .iter()
        .filter(|name| !name.contains('*') && !name.is_empty());
    names
        .filter_map(|resource| {
            let (name, below) = resource.split_once('/').unwrap_or((resource, ""));
            if here.contains(&name) {
                return unknown_subresource(name, below, &here);
            }
            let problem = Problem::new(format!(
                "`{name}` is not a resource of {}",
                shown_all(groups)
            ));
            if let Some(near) = nearest(name, here.iter().copied()) {
                let problem = problem.did_you_mean(Some(near));
                return Some(problem::or_newer(problem, ID));
            }
            let elsewhere = known.iter().find(|(_, known)| *known == name);
            let problem = match elsewhere {
                Some((group, _)) => problem.help(format!("it is in `groups={}`", shown(group))),
                None => problem,
            };
            all_known.then(|| problem::or_newer(problem, ID))
        })
        .collect()
}

const ID: &str = "unknown-resource";

/// A group that lacks its domain, has a version, or resembles one that exists.
fn misspelled(group: &str, all: &[(&str, &str)]) -> Option<Problem> {
    let plain = group.split('/').next().unwrap_or_default();
    let begins = |known: &str| {
        known == plain
            || known
                .strip_prefix(plain)
                .is_some_and(|it| it.starts_with('.'))
    };
    let names = || {
        all.iter()
            .map(|(known, _)| *known)
            .filter(|known| !known.is_empty())
    };
    // The project's own come last.
    let near = names()
        .rev()
        .find(|known| !plain.is_empty() && begins(known));
    let near = near.or_else(|| nearest(plain, names().rev()))?;
    let problem = Problem::new(format!("`{group}` is not a known group"));
    Some(problem::or_intended(problem.did_you_mean(Some(near)), ID))
}

/// A sub-resource that a kind does not have. Those of the project are in `here`; if none is, the kind is another operator's.
fn unknown_subresource(name: &str, below: &str, here: &[&str]) -> Option<Problem> {
    let own = here
        .iter()
        .filter_map(|it| it.strip_prefix(name)?.strip_prefix('/'));
    let mut known: Vec<&str> = own.collect();
    let is_kubernetes = kubernetes::kinds().any(|kind| kind.plural == name);
    if below.is_empty() || known.is_empty() && !is_kubernetes {
        return None;
    }
    if known.is_empty() {
        let of_kind = SUBRESOURCES
            .iter()
            .filter(|(_, kinds)| kinds.contains(&name));
        known.extend(
            of_kind
                .map(|(word, _)| *word)
                .chain(["status", "finalizers"]),
        );
    }
    // kubelets authorize what is below `nodes` by their own paths.
    if known.contains(&below) || name == "nodes" {
        return None;
    }
    let problem = Problem::new(format!("`{name}` has no sub-resource `{below}`"));
    let problem = match nearest(below, known.iter().copied()) {
        Some(near) => problem.did_you_mean(Some(&format!("{name}/{near}"))),
        None => problem.help(format!("it has `{}`", known.join("`, `"))),
    };
    Some(problem::or_newer(problem, ID))
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
