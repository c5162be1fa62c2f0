use clap::Parser;

use super::deletion::Deletion;
use super::{Command, api, controller, leftovers, webhook};
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::project::{self, Project, Table};

/// A project that has used every command.
const PROJECT: &str =
    include_str!("../../../tests/golden/a_project_that_has_seen_every_command/out/PROJECT");

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

fn choose(project: &Project, line: &str) -> Result<Deletion, String> {
    let words = std::iter::once("kbr").chain(line.split(' '));
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    let result = match &line.command {
        Command::Api(args) => api::choose(args, project, &|api| project.is_storage(api)),
        Command::Controller(args) => controller::choose(args, project),
        Command::Webhook(args) => webhook::choose(args, project),
    };
    result.map_err(|error| error.to_string())
}

/// The project after the commands.
fn after(lines: &[&str]) -> Project {
    let mut project = project::parse(PROJECT).unwrap();
    for line in lines {
        project = choose(&project, line).unwrap().after();
    }
    project
}

#[track_caller]
fn check_rejected(lines: &[&str], line: &str, expected: &[&str]) {
    let error = choose(&after(lines), line).unwrap_err();
    for text in expected {
        assert!(error.contains(text), "{error}");
    }
}

fn names(project: &Project) -> (usize, Vec<&str>, usize) {
    let controllers = project.controllers().map(|it| it.name.as_str());
    (
        project.apis().count(),
        controllers.collect(),
        project.webhooks().count(),
    )
}

const CREW: &str = "--group crew --kind Captain --version";

#[test]
fn a_version_goes_with_its_conversion() {
    let whole = after(&[]);
    let rest = after(&[&format!("api {CREW} v2")]);
    assert_eq!(rest.apis().count(), whole.apis().count() - 1);
    assert_eq!(rest.webhooks().count(), whole.webhooks().count() - 1);
    let spokes: Vec<_> = rest.webhooks().flat_map(|it| &it.spokes).collect();
    assert_eq!(spokes, ["v1alpha1"]);
}

#[test]
fn the_last_version_of_a_kind_goes_with_its_controllers() {
    let rest = after(&["api --group crew --version v1 --kind Mate"]);
    let (apis, controllers, webhooks) = names(&rest);
    assert_eq!((apis, webhooks), (4, 8));
    assert_eq!(
        controllers,
        ["captain", "galley-captain", "httproute", "rollouts"]
    );
}

#[test]
fn a_version_that_is_needed_is_rejected_with_what_to_do_first() {
    check_rejected(
        &[],
        &format!("api {CREW} v1alpha1"),
        &[
            "`v1alpha1` is the storage version of `Captain`, and other versions remain",
            "from `api/src/crew/v1/captain.rs` to `api/src/crew/v1alpha1/captain.rs`",
            "`Captain` v1alpha1 has webhooks",
            "`kbr delete webhook --group crew --version v1alpha1 --kind Captain`",
            "the controller `captain` reconciles `Captain` v1alpha1",
            "`kbr delete controller --controller-name captain`",
        ],
    );
    check_rejected(
        &[],
        &format!("api {CREW} v1"),
        &[
            "`v1` is the hub of `Captain`: v1alpha1 is converted",
            "`v1` is the hub of `Captain`: v2 is converted",
            "--kind Captain --conversion`",
        ],
    );
}

#[test]
fn what_is_not_there_is_rejected_with_what_is() {
    check_rejected(
        &[],
        "api --group crew --version v1 --kind Captian",
        &[
            "no resource for `Captian` of `crew/v1`",
            "did you mean `kbr delete api --group crew --version v1 --kind Captain`?",
        ],
    );
    check_rejected(
        &[],
        "api --group apps --version v1 --kind Deployment",
        &["to delete its controller: `kbr delete controller --controller-name rollouts`"],
    );
    check_rejected(
        &[],
        "webhook --group crew --version v1 --kind Mate --defaulting",
        &["no webhook for `Mate` of `crew/v1`"],
    );
    check_rejected(
        &[],
        "webhook --group core --version v1 --kind Pod --validation",
        &["`Pod` v1 has no such webhook"],
    );
    check_rejected(
        &[],
        "controller --controller-name mates",
        &["no controller `mates`", "`mate`"],
    );
    check_rejected(
        &[],
        "controller --controller-name captain --group apps --version v1 --kind Deployment",
        &[
            "the controller `captain` reconciles `Captain` of `crew/v1alpha1`, not `Deployment` of `apps/v1`",
            "help: to delete `captain`: `kbr delete controller --controller-name captain`",
            "help: to delete `rollouts`: `kbr delete controller --controller-name rollouts`",
        ],
    );
}

#[test]
fn a_controller_is_found_by_its_name_or_its_kind() {
    for line in [
        "controller --controller-name rollouts",
        "controller --name rollouts",
        "controller --group apps --version v1 --kind Deployment",
    ] {
        let rest = after(&[line]);
        assert!(!names(&rest).1.contains(&"rollouts"), "{line}");
    }
}

#[test]
fn a_part_of_a_webhook_table_can_be_deleted() {
    let galley = "webhook --group galley --version v1 --kind Captain";
    let rest = after(&[&format!("{galley} --programmatic-validation")]);
    let of_galley = rest.webhooks().find(|it| it.target.group == "galley");
    let of_galley = of_galley.unwrap();
    assert_eq!(of_galley.validation, "");
    assert_ne!(of_galley.defaulting, "");
    let rest = after(&[&format!("webhook {CREW} v1 --conversion --spoke v2")]);
    let spokes: Vec<_> = rest.webhooks().flat_map(|it| &it.spokes).collect();
    assert_eq!(spokes, ["v1alpha1"]);
    let rest = after(&[galley]);
    assert!(!rest.webhooks().any(|it| it.target.group == "galley"));
}

#[test]
fn everything_can_be_deleted_in_some_order() {
    let mut lines = vec!["webhook --group core --version v1 --kind Pod".to_owned()];
    lines.extend(["v1alpha1", "v1"].map(|version| format!("webhook {CREW} {version}")));
    lines.push("webhook --group galley --version v1 --kind Captain".to_owned());
    lines
        .push("webhook --group gateway.networking.k8s.io --version v1 --kind HTTPRoute".to_owned());
    lines.push("controller --controller-name captain".to_owned());
    lines.extend(["v2", "v1"].map(|version| format!("api {CREW} {version}")));
    lines.push(format!("api {CREW} v1alpha1"));
    lines.push("api --group crew --version v1 --kind Mate".to_owned());
    lines.push("api --group galley --version v1 --kind Captain".to_owned());
    lines.push("controller --controller-name httproute".to_owned());
    lines.push("controller --controller-name rollouts".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(after(&lines).tables, []);
}

#[test]
fn what_stays_in_the_cluster_has_the_names_of_the_table() {
    let mut project = after(&[]);
    let names = "layout = 'v1'\nkbr = '0.1.0'\nname = 'a'\ndomain = 'b.c'\n[names]\nprefix = 'sea'\nnamespace = 'deep'\n";
    project.head.names = project::parse(names).unwrap().head.names;
    let stays =
        |project: &Project, line: &str| leftovers::stays(&choose(project, line).unwrap(), &[]);
    let text = stays(&project, "api --group crew --version v1 --kind Mate");
    assert!(text.contains("sea-crew-mate-admin-role"), "{text}");
    let is_webhook = |it: &Table| matches!(it, Table::Webhook(_));
    let pod = |it: &Table| matches!(it, Table::Webhook(it) if it.target.kind == "Pod");
    project.tables.retain(|it| !is_webhook(it) || pod(it));
    let text = stays(&project, "webhook --group core --version v1 --kind Pod");
    assert!(!text.contains("captains-"), "{text}");
    for command in [
        "--namespace deep service/sea-webhook secret/sea-webhook-certificate ",
        "mutatingwebhookconfiguration/sea-mutating-webhook-configuration",
    ] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn what_stays_in_the_cluster_is_named_with_its_commands() {
    let stays = |line: &str| leftovers::stays(&choose(&after(&[]), line).unwrap(), &[]);
    let text = stays("api --group crew --version v1 --kind Mate");
    for command in [
        "kubectl delete mates.crew.example.com --all --all-namespaces\n",
        "kubectl delete crd mates.crew.example.com\n",
        "captains-crew-mate-admin-role",
    ] {
        assert!(text.contains(command), "{text}");
    }
    assert!(!text.contains("finalizer crew"), "it goes with the objects");
    assert!(stays(&format!("api {CREW} v2")).contains("stored as v2"));
    let text = stays("controller --controller-name galley-captain");
    assert!(
        text.contains("the finalizer galley.example.com/galley-captain"),
        "{text}"
    );
    assert!(
        !text.contains("NAMESPACE\n"),
        "a cluster-scoped kind: {text}"
    );
    assert_eq!(stays("webhook --group core --version v1 --kind Pod"), "");
}

#[test]
fn webhook_configurations_stay_only_if_there_have_been_any() {
    let pod = "webhook --group core --version v1 --kind Pod";
    let route = "webhook --group gateway.networking.k8s.io --version v1 --kind HTTPRoute";
    let galley = "webhook --group galley --version v1 --kind Captain";
    let alpha = format!("webhook {CREW} v1alpha1");
    let admission = format!("webhook {CREW} v1 --defaulting");
    let whole = after(&[pod, route, galley, &alpha, &admission]);
    let deletion = choose(&whole, &format!("webhook {CREW} v1")).unwrap();
    let generated = |text: &str| Change {
        path: "config/webhook/manifests.yaml".to_owned(),
        verb: Verb::Remove,
        before: Some(text.as_bytes().to_vec()),
        after: Vec::new(),
    };
    let stays = |changes: &[Change]| leftovers::stays(&deletion, changes);
    assert!(stays(&[]).contains("the Service"));
    for none in [&[][..], &[generated("# generated\n[]\n")]] {
        assert!(!stays(none).contains("rejects objects"));
    }
    let old = generated("# generated\n---\napiVersion: x\nkind: MutatingWebhookConfiguration\n");
    assert!(stays(&[old]).contains("rejects objects"));
}
