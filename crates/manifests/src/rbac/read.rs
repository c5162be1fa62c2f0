//! One RBAC marker -> one rule and the role that it belongs to.

use std::collections::BTreeSet;

use crd_lint::nearest;

use super::known;
use crate::markers::Marker;
use crate::problem::Problem;

const ARGUMENTS: [&str; 7] = [
    "groups",
    "resources",
    "resourceNames",
    "urls",
    "verbs",
    "namespace",
    "roleName",
];

/// Unique names, sorted.
pub type Set = BTreeSet<String>;

/// One rule of a role; `core` is already replaced by the empty group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub groups: Set,
    pub resources: Set,
    pub names: Set,
    pub urls: Set,
    pub verbs: Set,
}

/// The rule of a marker, and the role that gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Empty for the whole cluster.
    pub namespace: String,
    /// `None` for the manager's role.
    pub role_name: Option<String>,
    /// The rule, for any number of resources.
    pub rule: Rule,
}

/// Reads a marker; `own` holds the project's kinds, as group and plural.
///
/// # Errors
/// All problems of the marker.
pub fn grant(marker: &Marker, own: &[(String, String)]) -> Result<Grant, Vec<Problem>> {
    let mut grant = Grant::default();
    let mut problems = Vec::new();
    for (name, values) in &marker.arguments {
        if let Err(problem) = argument(&mut grant, name, values) {
            problems.push(problem);
        }
    }
    problems.extend(faults(&grant).map(Problem::new));
    problems.extend(known::unknown_verbs(&grant.rule.groups, &grant.rule.verbs));
    problems.extend(known::unknown_resources(
        &grant.rule.groups,
        &grant.rule.resources,
        own,
    ));
    let problems = marker.problems(problems);
    if problems.is_empty() {
        return Ok(grant);
    }
    Err(problems)
}

fn argument(grant: &mut Grant, name: &str, values: &[String]) -> Result<(), Problem> {
    let rule = &mut grant.rule;
    let list = || values.iter().cloned().collect::<Set>();
    match name {
        "groups" => rule.groups = values.iter().map(|group| group_name(group)).collect(),
        "resources" => rule.resources = list(),
        "resourceNames" => rule.names = list(),
        "urls" => rule.urls = list(),
        "verbs" => rule.verbs = list(),
        "namespace" => grant.namespace = single(name, values)?,
        "roleName" => grant.role_name = Some(single(name, values)?).filter(|name| !name.is_empty()),
        _ => {
            let text = format!("`{name}` is not an argument of an RBAC marker");
            return Err(Problem::new(text).did_you_mean(nearest(name, ARGUMENTS)));
        }
    }
    Ok(())
}

/// The core group is called `core` in markers, but its name in the API is the empty string.
fn group_name(group: &str) -> String {
    if group == "core" {
        String::new()
    } else {
        group.to_owned()
    }
}

fn single(name: &str, values: &[String]) -> Result<String, Problem> {
    match values {
        [value] => Ok(value.clone()),
        _ => Err(Problem::new(format!("`{name}` takes one value"))),
    }
}

/// Mistakes that the API server would reject, or that would make the rule grant nothing.
fn faults(grant: &Grant) -> impl Iterator<Item = &'static str> {
    let rule = &grant.rule;
    let resources = !rule.resources.is_empty();
    let urls = !rule.urls.is_empty();
    [
        (rule.verbs.is_empty(), "`verbs` is missing"),
        (!resources && !urls, "`resources` or `urls` is missing"),
        (
            resources && urls,
            "a rule cannot have both `resources` and `urls`",
        ),
        (
            resources && rule.groups.is_empty(),
            "`groups` is missing (`groups=core` for Pods, Services and the like)",
        ),
        (
            urls && !resources && !rule.groups.is_empty(),
            "`urls` cannot have `groups`",
        ),
        (
            !resources && !rule.names.is_empty(),
            "`resourceNames` need `resources`",
        ),
        (
            urls && !grant.namespace.is_empty(),
            "`urls` apply to the whole cluster: a rule for them cannot have a `namespace`",
        ),
        (
            rule.resources.contains("") || rule.verbs.contains("") || rule.urls.contains(""),
            "a value is empty",
        ),
    ]
    .into_iter()
    .filter_map(|(wrong, text)| wrong.then_some(text))
}
