use std::path::Path;

use clap::Parser;

use super::args::{ApiParts, Args};
use super::target::{ApiSelection, choose};
use kbr_scaffold::library::Origin;
use kbr_scaffold::project::{Head, KBR, Project, Table};
use kbr_scaffold::resource::controller::Controller;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

/// A project without resources.
pub(super) fn project(domain: &str) -> Project {
    Project::new(Head {
        layout: "v1".to_owned(),
        kbr: KBR.to_owned(),
        name: "captains".to_owned(),
        domain: domain.to_owned(),
        repo: String::new(),
        owner: String::new(),
        license: String::new(),
        library: Origin::default(),
        names: kbr_scaffold::project::Given::default(),
    })
}

/// Runs commands one after another on nothing but PROJECT.
struct Try {
    project: Project,
}

impl Try {
    fn new(domain: &str) -> Self {
        Try {
            project: project(domain),
        }
    }

    fn controller(&self, at: usize) -> &Controller {
        self.project.controllers().nth(at).unwrap()
    }

    fn choose(&self, flags: &str) -> Result<ApiSelection, String> {
        let flags = flags.split(' ').map(|flag| flag.trim_matches('\''));
        let args = Command::try_parse_from(std::iter::once("kbr").chain(flags))
            .map_err(|error| error.to_string())?
            .args;
        let parts = ApiParts {
            resource: args.resource.unwrap_or(args.of.external_crate.is_none()),
            controller: args.controller.unwrap_or(true),
        };
        choose(&args, parts, &self.project, Path::new("/nowhere"))
            .map_err(|error| error.to_string())
    }

    /// The tables in PROJECT after the command: `api,controller`, with `=` before those that existed already.
    #[track_caller]
    fn run(&mut self, flags: &str) -> String {
        let chosen = self.choose(flags).unwrap();
        let mut tables = Vec::new();
        if let Some(api) = chosen.api {
            let mark = if api.recorded { "=" } else { "" };
            tables.push(format!("{mark}{}", api.value.type_path()));
            if !api.recorded {
                self.project.tables.push(Table::Api(api.value));
            }
        }
        if let Some(controller) = chosen.controller {
            let mark = if controller.recorded { "=" } else { "" };
            tables.push(format!("{mark}{}", controller.value.name));
            if !controller.recorded {
                self.project
                    .tables
                    .push(Table::Controller(controller.value));
            }
        }
        tables.join(",")
    }

    #[track_caller]
    fn rejects(&self, flags: &str, reason: &str, help: &str) {
        let error = self.choose(flags).unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains(&format!("help: {help}")), "{error}");
    }
}

#[test]
fn a_second_kind_version_and_group_need_no_mode() {
    let mut project = Try::new("example.com");
    for (flags, expected) in [
        (
            "--group crew --version v1 --kind Captain",
            "api::crew::v1::Captain,captain",
        ),
        (
            "--group crew --version v1 --kind Mate",
            "api::crew::v1::Mate,mate",
        ),
        (
            "--group crew --version v2 --kind Captain --controller=false",
            "api::crew::v2::Captain",
        ),
        (
            "--group ship --version v1 --kind Sail",
            "api::ship::v1::Sail,sail",
        ),
        (
            "--group ship --version v1 --kind Captain",
            "api::ship::v1::Captain,ship-captain",
        ),
    ] {
        assert_eq!(project.run(flags), expected);
    }
}

#[test]
fn repeating_a_command_finds_its_tables() {
    let mut project = Try::new("example.com");
    let flags = "--group crew --version v1 --kind Captain --plural captain --short-name cap --namespaced=false";
    assert_eq!(project.run(flags), "api::crew::v1::Captain,captain");
    assert_eq!(project.run(flags), "=api::crew::v1::Captain,=captain");
    let short = "--group crew --version v1 --kind Captain";
    assert_eq!(project.run(short), "=api::crew::v1::Captain,=captain");
    let whole = "--group crew.example.com --domain '' --version v1 --kind Captain";
    assert_eq!(project.run(whole), "=api::crew::v1::Captain,=captain");
    project.rejects(
        &format!("{short} --plural captains"),
        "`Captain` v1 already exists with plural `captain`, not `captains`",
        "leave `--plural` out; to change it, edit `api/src/crew/v1/captain.rs`",
    );
    project.rejects(
        &format!("{short} --namespaced"),
        "with namespaced `false`, not `true`",
        "leave `--namespaced` out",
    );
}

#[test]
fn another_version_has_the_names_and_scope_of_the_first() {
    let mut project = Try::new("example.com");
    project.run("--group crew --version v1 --kind Captain --plural captain --short-name cap --namespaced=false");
    project.run("--group crew --version v2 --kind Captain --controller=false");
    let second = project.project.apis().nth(1).unwrap();
    assert_eq!(
        (second.plural.as_str(), second.namespaced),
        ("captain", false)
    );
    assert_eq!(second.short_names, ["cap"]);
    project.rejects(
        "--group crew --version v3 --kind Captain --namespaced",
        "all versions of a kind share it",
        "leave `--namespaced` out",
    );
    project.rejects(
        "--group crew --version v2 --kind Captain",
        "the controller `captain` already exists and is for `Captain` of `crew.example.com/v1`",
        "pass another name with `--controller-name`, or `--controller=false`",
    );
    let stored = |flags: &str| {
        let chosen = project.choose(flags).unwrap();
        project.project.is_storage(&chosen.api.unwrap().value)
    };
    assert!(stored("--group crew --version v1 --kind Captain"));
    assert!(!stored(
        "--group crew --version v2 --kind Captain --controller=false"
    ));
    assert!(!stored(
        "--group crew --version v3 --kind Captain --controller=false"
    ));
}

#[test]
fn one_kind_may_have_several_controllers() {
    let mut project = Try::new("example.com");
    project.run("--group crew --version v1 --kind Captain");
    let backup = "--group crew --version v1 --kind Captain --resource=false --controller-name captain-backup";
    assert_eq!(project.run(backup), "captain-backup");
    assert_eq!(project.run(backup), "=captain-backup");
    assert_eq!(
        project.run("--group crew --version v1 --kind Captain --resource=false"),
        "=captain"
    );
    project.rejects(
        "--group ship --version v1 --kind Sail --controller-name captain",
        "the controller `captain` already exists and is for `Captain` of `crew.example.com/v1`, not for `Sail`",
        "pass another name",
    );
    project.rejects(
        "--group crew --version v1 --kind Captain --controller-name My_Backup",
        "`My_Backup` is not a controller name",
        "try `--controller-name my-backup`",
    );
}

#[test]
fn a_domain_can_be_the_full_group_or_another_domain() {
    let mut project = Try::new("hopegi.com");
    for (flags, expected) in [
        (
            "--group '' --version v1 --kind EcsBinding --plural ecsbinding",
            "hopegi.com",
        ),
        (
            "--group cnat.programming-kubernetes.info --domain '' --version v1 --kind At",
            "cnat.programming-kubernetes.info",
        ),
        (
            "--group crew --domain example.com --version v1 --kind Captain",
            "crew.example.com",
        ),
    ] {
        project.run(flags);
        assert_eq!(project.project.apis().last().unwrap().full_group, expected);
    }
    // A controller can select them by the short group.
    assert_eq!(
        project.run(
            "--group crew --version v1 --kind Captain --resource=false --controller-name other"
        ),
        "other"
    );
}

#[test]
fn a_controller_for_a_built_in_kind_has_its_type() {
    let mut project = Try::new("example.com");
    let flags = "--group apps --version v1 --kind Deployment --resource=false";
    assert_eq!(project.run(flags), "deployment");
    assert_eq!(project.run(flags), "=deployment");
    let controller = project.controller(0);
    assert_eq!(
        controller.target.type_path,
        "k8s_openapi::api::apps::v1::Deployment"
    );
    assert_eq!(
        project.run("--group core --version v1 --kind Pod --resource=false"),
        "pod"
    );
    assert_eq!(
        project.run("--group '' --version v1 --kind Node --resource=false"),
        "node"
    );
    assert_eq!(
        project.run("--group events --version v1 --kind Event --resource=false"),
        "event"
    );
    assert_eq!(
        project.run("--group core --version v1 --kind Event --resource=false"),
        "core-event"
    );
    project.rejects(
        "--group apps --version v1 --kind Deployment --resource=false --namespaced=false",
        "`--namespaced` cannot change `Deployment`",
        "leave `--namespaced` out",
    );
}

#[test]
fn an_unknown_kind_is_rejected_with_the_nearest_ones() {
    let mut project = Try::new("example.com");
    project.run("--group crew --version v1 --kind Captain");
    project.rejects(
        "--group apps --version v1 --kind Deploment --resource=false",
        "no kind `Deploment` found in `apps/v1`, neither in this project nor in Kubernetes 1.",
        "did you mean `--group apps --version v1 --kind Deployment`?",
    );
    project.rejects(
        "--group crew --version v2 --kind Captan --resource=false",
        "no kind `Captan` found",
        "did you mean `--group crew --version v1 --kind Captain`?",
    );
    project.rejects(
        "--group x --version v1 --kind Zymurgy --resource=false",
        "no kind `Zymurgy` found",
        "for an external kind, pass `--external-crate` and `--external-type`",
    );
}

#[test]
fn an_external_kind_keeps_its_group() {
    let mut project = Try::new("example.com");
    let flags = "--group cert-manager.io --version v1 --kind Certificate --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate";
    let chosen = project.choose(flags).unwrap();
    assert_eq!(chosen.added.unwrap().line, "cert-manager = \"0.5\"");
    assert_eq!(project.run(flags), "certificate");
    assert_eq!(project.run(flags), "=certificate");
    let controller = project.controller(0);
    assert_eq!(controller.target.full_group, "cert-manager.io");
    assert_eq!(controller.target.plural, "certificates");
    assert_eq!(controller.target.type_path, "cert_manager::v1::Certificate");
    project.rejects(
        &format!("{flags} --resource"),
        "`--external-crate` selects an external kind",
        "leave `--resource` out",
    );
    project.rejects(
        &flags.replace("@0.5", "@0.6"),
        "takes its type from `cert-manager@0.5`, not `cert-manager@0.6`",
        "pass another name",
    );
}

#[test]
fn a_kind_whose_table_was_updated_to_its_types_gets_more_controllers() {
    let mut project = Try::new("example.com");
    let flags = "--group crew --version v1 --kind Captain";
    project.run(flags);
    let Table::Api(api) = &mut project.project.tables[0] else {
        panic!("the kind comes first");
    };
    api.plural = "captainz".to_owned();
    api.namespaced = false;
    assert_eq!(project.run(flags), "=api::crew::v1::Captain,=captain");
    let second = format!("{flags} --resource=false --controller-name backup");
    assert_eq!(project.run(&second), "backup");
    let second = project.controller(1);
    assert_eq!(
        (second.target.plural.as_str(), second.target.namespaced),
        ("captainz", false)
    );
}

#[test]
fn a_new_group_leaves_the_module_of_conversions_to_them() {
    let flags = "--version v1 --kind Captain";
    let mut project = Try::new("example.com");
    project.rejects(
        &format!("--group conversion {flags}"),
        "the module `conversion` of the `api` crate is reserved for conversions",
        "pass the full group, so that the module is `conversion_example_com`: `--group conversion.example.com --domain ''`",
    );
    assert_eq!(
        project.run(&format!(
            "--group conversion.example.com --domain '' {flags}"
        )),
        "api::conversion_example_com::v1::Captain,captain"
    );
}
