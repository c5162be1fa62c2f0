use std::path::Path;

use clap::Parser;

use super::args::{Args, WebhookParts};
use super::chosen::{WebhookSelection, choose};
use kbr_scaffold::project::{self, Project, Table};
use kbr_scaffold::resource::{ApiFlags, Resource};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

/// Runs commands one after another on nothing but PROJECT.
struct Try {
    project: Project,
}

impl Try {
    /// With a kind `Captain` in these versions.
    fn new(versions: &[&str]) -> Self {
        let api = |version: &&str| {
            let wanted = ApiFlags {
                group: "crew".to_owned(),
                domain: "example.com".to_owned(),
                version: (*version).to_owned(),
                kind: "Captain".to_owned(),
                namespaced: true,
                ..ApiFlags::default()
            };
            Resource::new(&wanted).unwrap()
        };
        let head = "layout = 'v1'\nkbr = '0.3.0'\nname = 'captains'\ndomain = 'example.com'";
        let mut project = project::parse(head).unwrap();
        project.tables = versions.iter().map(api).map(Table::Api).collect();
        Try { project }
    }

    fn choose(&self, flags: &str) -> Result<WebhookSelection, String> {
        let flags = flags.split(' ');
        let args = Command::try_parse_from(std::iter::once("kbr").chain(flags))
            .map_err(|error| error.to_string())?
            .args;
        let parts = WebhookParts {
            defaulting: args.defaulting,
            validation: args.validation,
            conversion: args.conversion,
        };
        choose(&args, parts, &self.project, Path::new("/nowhere"))
            .map_err(|error| error.to_string())
    }

    /// The new paths and spokes.
    #[track_caller]
    fn run(&mut self, flags: &str) -> String {
        let Some(new) = self.choose(flags).unwrap().new else {
            return "nothing".to_owned();
        };
        let parts = [
            new.defaulting.as_str(),
            &new.validation,
            &new.spokes.join("+"),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let parts = parts.collect::<Vec<_>>().join(" ");
        self.project.tables.push(Table::Webhook(new));
        parts
    }

    #[track_caller]
    fn rejects(&self, flags: &str, reason: &str, help: &str) {
        let error = self.choose(flags).unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains(&format!("help: {help}")), "{error}");
    }
}

const CAPTAIN: &str = "--group crew --version v1 --kind Captain";

#[test]
fn webhooks_can_be_added_one_after_another_but_only_once() {
    let mut project = Try::new(&["v1"]);
    let defaulting = format!("{CAPTAIN} --defaulting");
    assert_eq!(
        project.run(&defaulting),
        "/mutate-crew-example-com-v1-captain"
    );
    assert_eq!(project.run(&defaulting), "nothing");
    let both = format!("{CAPTAIN} --defaulting --programmatic-validation");
    assert_eq!(project.run(&both), "/validate-crew-example-com-v1-captain");
    assert_eq!(project.run(&both), "nothing");
}

#[test]
fn existing_webhooks_are_changed_in_their_file() {
    let mut project = Try::new(&["v1"]);
    project.run(&format!("{CAPTAIN} --defaulting --timeout 3"));
    let help = "edit its comment `+kbr:webhook:path=/mutate-crew-example-com-v1-captain` in `src/webhooks/crew_v1_captain.rs`";
    for flags in ["--timeout 4", "--defaulting-path /x"] {
        let flags = format!("{CAPTAIN} --defaulting {flags}");
        project.rejects(&flags, "already exists: ", help);
    }
    assert_eq!(
        project.run(&format!("{CAPTAIN} --defaulting --timeout 3")),
        "nothing"
    );
}

#[test]
fn flags_without_effect_are_rejected() {
    let project = Try::new(&["v1", "v2"]);
    for (flags, with) in [
        ("--defaulting --validation-path /x", "`--validation`"),
        ("--validation --defaulting-path /x", "`--defaulting`"),
        ("--defaulting --spoke v2", "`--conversion`"),
        (
            "--conversion --timeout 3",
            "`--defaulting` or `--validation`",
        ),
        ("--spoke v2", "`--conversion`"),
    ] {
        project.rejects(
            &format!("{CAPTAIN} {flags}"),
            "has no effect without",
            &format!("pass {with}"),
        );
    }
}

#[test]
fn spokes_are_other_versions_of_the_kind() {
    let mut project = Try::new(&["v1", "v2", "v3"]);
    let hub = "--group crew --version v2 --kind Captain --conversion";
    project.rejects(
        &format!("{hub} --spoke v2"),
        "`v2` is the hub itself",
        "its other versions: v1, v3",
    );
    project.rejects(
        &format!("{hub} --spoke v4"),
        "`v4` is not a version of `Captain`",
        "its other versions: v1, v3",
    );
    assert_eq!(project.run(&format!("{hub} --spoke v1,v1")), "v1");
    project.rejects(
        &format!("{CAPTAIN} --conversion"),
        "the hub of `Captain` is already `v2`",
        "pass `--version v2`",
    );
    assert_eq!(project.run(hub), "v3");
    assert_eq!(project.run(hub), "nothing");
}

#[test]
fn conversion_needs_a_kind_of_the_project_with_several_versions() {
    let project = Try::new(&["v1"]);
    project.rejects(
        &format!("{CAPTAIN} --conversion"),
        "`Captain` has only the version `v1`",
        "to create `v2`: `kbr create api",
    );
    project.rejects(
        "--group core --version v1 --kind Pod --conversion",
        "`Pod` is not a kind of this project",
        "leave `--conversion` out",
    );
}

#[test]
fn no_two_kinds_share_a_path() {
    let mut project = Try::new(&["v1"]);
    project.run(&format!("{CAPTAIN} --defaulting --defaulting-path /x"));
    project.rejects(
        "--group core --version v1 --kind Pod --defaulting --defaulting-path /x",
        "`/x` is already the path of a webhook for `Captain` of `crew.example.com`",
        "pass another path",
    );
}

#[test]
fn an_unknown_kind_is_rejected() {
    let project = Try::new(&["v1"]);
    project.rejects(
        "--group crew --version v2 --kind Captain --defaulting",
        "no kind `Captain` found in `crew.example.com/v2`",
        "did you mean `--group crew --version v1 --kind Captain`?",
    );
}

#[test]
fn a_boolean_flag_takes_an_optional_value() {
    let mut project = Try::new(&["v1"]);
    let flags = format!("{CAPTAIN} --defaulting=true --programmatic-validation=false");
    assert_eq!(project.run(&flags), "/mutate-crew-example-com-v1-captain");
}

#[test]
fn invalid_webhook_values_are_rejected() {
    let project = Try::new(&["v1"]);
    for (flags, reason, help) in [
        (
            "--timeout 0",
            "between 1 and 30",
            "pass a number from 1 to 30",
        ),
        (
            "--timeout 300",
            "between 1 and 30",
            "pass a number from 1 to 30",
        ),
        (
            "--defaulting-path=",
            "is empty",
            "leave `--defaulting-path` out",
        ),
        (
            "--defaulting-path /Captain",
            "is not a webhook path",
            "try `/mutate-crew-example-com-v1-captain`",
        ),
        (
            "--defaulting-path /convert",
            "`/convert` is the path of the conversion webhook",
            "pass another path",
        ),
        (
            "--match-condition x=object.",
            "the match condition `x`, `object.`: ",
            "write a CEL expression about `object`",
        ),
        (
            "--match-condition x=true --match-condition x=false",
            "two match conditions are named `x`",
            "give each its own name",
        ),
        (
            "--namespace-selector a=b=c",
            "`b=c` is not a label value",
            "use kubectl's syntax",
        ),
    ] {
        project.rejects(&format!("{CAPTAIN} --defaulting {flags}"), reason, help);
    }
}

#[test]
fn a_match_condition_for_a_newer_kubernetes_can_be_allowed_in_project() {
    let mut project = Try::new(&["v1"]);
    let flags = format!("{CAPTAIN} --defaulting --match-condition x=future(object)");
    let help = "`allow = [\"unknown-function\"]` under `[manifests]` in PROJECT";
    project.rejects(
        &flags,
        "unknown function `future`",
        "write a CEL expression about",
    );
    let error = project.choose(&flags).unwrap_err();
    assert!(error.contains(help), "{error}");
    project.project.manifests.allow = vec!["unknown-function".to_owned()];
    assert_eq!(project.run(&flags), "/mutate-crew-example-com-v1-captain");
}
