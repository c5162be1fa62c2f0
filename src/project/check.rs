//! Validates the names in PROJECT: they become paths, YAML and Rust, and PROJECT may have been edited or merged by hand.

use std::collections::BTreeSet;

use super::{Project, name};
use crate::diagnostic::Problems;
use crate::resource::controller::Controller;
use crate::resource::target::Target;
use crate::resource::{Resource, names};

/// The problems, one sentence each. Names that only clash with reserved names are accepted, because each release may reserve more.
pub fn problems(project: &Project) -> Vec<String> {
    let mut found: Vec<String> = name::spelling(&project.head.name).into_iter().collect();
    let domain = &project.head.domain;
    if !names::is_subdomain(domain) {
        found.push(format!("`{domain}` is not a domain"));
    }
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
                    "`[[webhook]]` of `{kind}` converts `{group}/{spoke}`, which has no `[[api]]`"
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
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    const PROJECT: &str = r#"layout = "v1"
kbr = "0.1.0"
name = "captains"
domain = "example.com"

[[api]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
singular = "captain"
namespaced = true

[[controller]]
name = "pod"
group = "core"
full_group = ""
version = "v1"
kind = "Pod"
plural = "pods"
namespaced = true
type = "k8s_openapi::api::core::v1::Pod"
"#;

    #[test]
    fn each_invalid_name_in_project_is_reported() {
        assert!(parse(PROJECT).is_ok());
        for (good, bad, expected) in [
            (
                "\"captains\"\nd",
                "\"Bad Name\"\nd",
                "`Bad Name` is not a project name",
            ),
            ("\"example.com\"", "\"a b\"", "`a b` is not a domain"),
            (
                "\"crew\"",
                "\"../x\"",
                "`../x` is not the short form of the group `crew.example.com`",
            ),
            ("\"crew.example.com\"", "\"../x\"", "`../x` is not a group"),
            (
                "\"v1\"\nkind = \"C",
                "\"one\"\nkind = \"C",
                "`one` is not an API version",
            ),
            ("\"Captain\"", "\"a/b\"", "`a/b` is not a kind"),
            (
                "plural = \"captains\"",
                "plural = \"a b\"",
                "`a b` is not a valid plural",
            ),
            ("\"pod\"", "\"../pod\"", "`../pod` is not a controller name"),
            ("\"core\"", "\"..\"", "`..` is not the core group"),
            (
                "::Pod",
                "::Pod; evil",
                "Pod; evil` is not the path of a type",
            ),
        ] {
            let text = PROJECT.replacen(good, bad, 1);
            assert_ne!(text, PROJECT, "{good}");
            let error = parse(&text).unwrap_err().to_string();
            assert!(
                error.starts_with("`PROJECT` is broken; nothing was written\n"),
                "{error}"
            );
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_converted_version_that_does_not_exist_is_reported() {
        let hub = r#"
[[webhook]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
namespaced = true
type = "api::crew::v1::Captain"
spokes = ["v9"]
"#;
        let error = parse(&format!("{PROJECT}{hub}")).unwrap_err().to_string();
        assert!(
            error.contains(
                "`[[webhook]]` of `Captain` converts `crew.example.com/v9`, which has no `[[api]]`"
            ),
            "{error}"
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let text = PROJECT
            .replace("captains\"\nd", "C\"\nd")
            .replace("example.com", "example.com.");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("\n    `C` is not a project name"), "{error}");
        assert!(
            error.contains("\n    `example.com.` is not a domain"),
            "{error}"
        );
        assert!(
            error.contains("\n    `crew.example.com.` is not a group"),
            "{error}"
        );
    }

    #[test]
    fn duplicate_tables_are_reported() {
        let (_, tables) = PROJECT.split_once("\n[[api]]").unwrap();
        let text = format!("{PROJECT}\n[[api]]{tables}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(
            error.contains("duplicate `[[api]]` of `Captain` in `crew.example.com/v1`"),
            "{error}"
        );
        assert!(
            error.contains("duplicate `[[controller]]` `pod`"),
            "{error}"
        );
    }
}
