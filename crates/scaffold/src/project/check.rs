//! Validates the names and values in PROJECT: they become paths, YAML and Rust, and PROJECT may have been edited or merged by hand.

use std::collections::BTreeSet;

use super::{Head, Project, name, values};
use crate::resource::controller::Controller;
use crate::resource::target::Target;
use crate::resource::{Resource, names};
use kbr_host::diagnostic::Problems;

/// The problems, one sentence each. Names that only clash with reserved names are accepted, because each release may reserve more.
pub fn problems(project: &Project) -> Vec<String> {
    let mut found = of_head(&project.head);
    let mut of_tables = Problems::default();
    // Clashes between tables were checked when they were created; checking all pairs of 500 kinds would take 50 ms.
    for api in project.apis() {
        check_group(&api.group, &api.full_group, &mut of_tables);
        api.check(&mut of_tables);
    }
    for controller in project.controllers() {
        check_controller(controller, &project.manager_id(), &mut of_tables);
    }
    for webhook in project.webhooks() {
        check_target(&webhook.target, &mut of_tables);
        webhook.check(&mut of_tables);
    }
    check_duplicates(project, &mut of_tables);
    check_spokes(project, &mut of_tables);
    for text in of_tables.texts() {
        if !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    found
}

/// The problems of the keys that `kbr init` recorded. Names are spelled out in their problem; the others need their key.
fn of_head(head: &Head) -> Vec<String> {
    let domain = &head.domain;
    let is_domain = names::is_subdomain(domain);
    let names = [
        name::spelling(&head.name),
        (!is_domain).then(|| format!("`{domain}` is not a domain")),
    ];
    let values = [
        ("repo", values::repo_problem(&head.repo)),
        ("owner", values::owner_problem(&head.owner)),
        ("license", values::license_problem(&head.license)),
    ];
    let values = values
        .into_iter()
        .filter_map(|(key, problem)| Some(format!("`{key}`: {}", problem?)));
    let deployed = head.names.problems();
    let names = names.into_iter().flatten();
    names.chain(values).chain(deployed).collect()
}

/// A merge may leave duplicate tables.
fn check_duplicates(project: &Project, problems: &mut Problems) {
    let mut known = BTreeSet::new();
    for api in project.apis() {
        if !known.insert((&api.full_group, &api.version, &api.kind)) {
            let (kind, group, version) = (&api.kind, &api.full_group, &api.version);
            problems.add(
                format!("duplicate `[[api]]` of `{kind}` in `{group}/{version}`"),
                "",
            );
        }
    }
    let mut known = BTreeSet::new();
    for controller in project.controllers() {
        if !known.insert(&controller.name) {
            let name = &controller.name;
            problems.add(format!("duplicate `[[controller]]` `{name}`"), "");
        }
    }
}

/// A version that a hub converts must be a version of its kind.
fn check_spokes(project: &Project, problems: &mut Problems) {
    for hub in project.webhooks() {
        for spoke in &hub.spokes {
            let mut versions = project.versions(&hub.target);
            if !versions.any(|api| api.version == *spoke) {
                let (kind, group) = (&hub.target.kind, hub.target.group_shown());
                let text = format!(
                    "`[[webhook]]` of `{kind}` converts `{group}/{spoke}`, but has no `[[api]]` for it"
                );
                problems.add(text, "");
            }
        }
    }
}

/// The short group is a folder of the `api` crate, and a prefix of the full group.
fn check_group(group: &str, full_group: &str, problems: &mut Problems) {
    let begins = full_group
        .strip_prefix(group)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if !names::is_subdomain(group) || !begins {
        problems.add(
            format!("`{group}` is not the short form of the group `{full_group}`"),
            "",
        );
    }
}

fn check_controller(controller: &Controller, manager_id: &str, problems: &mut Problems) {
    controller.check(manager_id, problems);
    check_target(&controller.target, problems);
}

fn check_target(target: &Target, problems: &mut Problems) {
    if target.full_group.is_empty() {
        if target.group != "core" {
            problems.add(format!("`{}` is not the core group", target.group), "");
        }
    } else {
        check_group(&target.group, &target.full_group, problems);
    }
    let kind = Resource {
        group: target.group.clone(),
        // The core group has no name to check.
        full_group: target.group_shown().to_owned(),
        version: target.version.clone(),
        kind: target.kind.clone(),
        plural: target.plural.clone(),
        ..Resource::default()
    };
    kind.check_external(problems);
    if !names::is_type_path(&target.type_path) {
        problems.add(
            format!("`{}` is not the path of a type", target.type_path),
            "",
        );
    }
    let dependency = target.dependency.as_deref();
    if let Some(problem) = dependency.and_then(values::dependency_problem) {
        problems.add(format!("`dependency`: {problem}"), "");
    }
}

#[cfg(test)]
mod tests;
