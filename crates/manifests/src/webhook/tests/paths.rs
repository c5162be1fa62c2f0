use serde_json::json;

use crate::crd::{Crd, merge};
use crate::kinds::Kinds;
use crate::problem::Problem;
use crate::webhook::entry::Entry;
use crate::webhook::served::compare;
use kbr_scaffold::project::Project;
use kbr_scaffold::rust::Source;

const CODE: &str = "use api::crew::v1::Captain;\nuse k8s_openapi::api::core::v1::Pod as Boat;\n\npub fn register(manager: &mut Manager) {\n    manager.defaulter::<Captain>(CaptainWebhook);\n    manager\n        .validator::<Captain>(CaptainWebhook);\n    manager.validator::<Boat>(W);\n    manager.validator_at::<Captain>(\"/check\", W);\n    // manager.validator::<k8s_openapi::api::core::v1::Secret>(W);\n}\n";

fn project() -> (Project, Vec<Crd>) {
    let project = "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n[[api]]\ngroup = \"crew\"\nfull_group = \"crew.example.com\"\nversion = \"v1\"\nkind = \"Captain\"\nplural = \"captains\"\nsingular = \"captain\"\nnamespaced = true\n";
    let crd = json!({
        "metadata": {},
        "spec": {
            "group": "crew.example.com", "scope": "Namespaced",
            "names": { "kind": "Captain", "plural": "captains" },
            "versions": [{ "name": "v1", "served": true, "storage": true }],
        },
    });
    (
        kbr_scaffold::project::parse(project).unwrap(),
        merge(
            &[crd],
            &crate::source_map::SourceMap::default(),
            &mut Vec::new(),
        ),
    )
}

/// Problems and warnings of `code` with markers for `paths`, `!` before those of validators.
fn check(code: &str, paths: &[&str]) -> (Vec<String>, Vec<String>) {
    let webhooks: Vec<Entry> = paths
        .iter()
        .map(|path| Entry {
            at: "a.rs:1".into(),
            mutating: !path.starts_with('!'),
            path: Some(path.trim_start_matches('!').to_owned()),
            object: json!({}),
        })
        .collect();
    let (project, crds) = project();
    let mut problems = Vec::new();
    let sources = [Source::new("b.rs", code)];
    let warnings = compare(
        &Kinds::of(&project, &crds),
        &sources,
        &webhooks,
        &mut problems,
    );
    let text = |list: Vec<Problem>| list.iter().map(ToString::to_string).collect();
    (text(problems), text(warnings))
}

const ALL: [&str; 4] = [
    "/mutate-crew-example-com-v1-captain",
    "!/validate-crew-example-com-v1-captain",
    "!/validate--v1-pod",
    "!/check",
];

#[test]
fn a_registered_path_with_a_marker_is_accepted() {
    assert_eq!(check(CODE, &ALL), (vec![], vec![]));
}

#[test]
fn a_path_that_no_code_serves_is_a_problem() {
    let problem = |path: &str, help: &str| {
        let paths: Vec<&str> = ALL.into_iter().chain([path]).collect();
        let (problems, warnings) = check(CODE, &paths);
        assert!(
            problems.len() == 1 && warnings.is_empty() && problems[0].contains(help),
            "{problems:?} {warnings:?}"
        );
    };
    problem(
        "/mutate-crew-example-com-v1-captan",
        "did you mean `/mutate-crew-example-com-v1-captain`",
    );
    problem(
        "/check",
        "no defaulter is registered at `/check`\n    help: a validator is registered there: write `mutating=false`",
    );
    problem("!/nowhere", "register it, `manager.validator::<T>(…)` or");
}

#[test]
fn a_webhook_without_a_marker_is_a_warning_with_the_marker_to_write() {
    let (problems, warnings) = check(CODE, &ALL[1..]);
    assert_eq!(problems, [""; 0]);
    assert!(
        warnings.len() == 1
            && warnings[0].starts_with("`b.rs:5`: the defaulter at `/mutate-crew")
            && warnings[0].contains(
                "`// +kbr:webhook:path=/mutate-crew-example-com-v1-captain,mutating=true,"
            )
            && warnings[0].contains(",resources=captains,")
            && warnings[0].contains(",name=mcaptain-v1.crew.example.com,"),
        "{warnings:?}"
    );
}

#[test]
fn paths_are_not_reported_while_a_kind_is_unknown() {
    let code = "manager.defaulter::<other::Thing>(W);";
    assert_eq!(check(code, &["/anything"]), (vec![], vec![]));
    let code = "manager.validator_at::<Captain>(PATH, W);";
    assert_eq!(check(code, &["!/anything"]), (vec![], vec![]));
}

#[test]
fn a_webhook_that_gets_requests_as_they_are_is_of_either_kind() {
    let code = "manager.admission_at(\"/review\", review);\n";
    for path in ["/review", "!/review"] {
        assert_eq!(check(code, &[path]), (vec![], vec![]));
    }
    let (problems, warnings) = check(code, &[]);
    assert_eq!(problems, [""; 0]);
    let text =
        "`b.rs:1`: the webhook at `/review` never runs: no marker registers it with the API server";
    assert!(
        warnings.len() == 1 && warnings[0].starts_with(text),
        "{warnings:?}"
    );
    let (problems, _) = check(code, &["!/other"]);
    assert!(problems[0].contains("write `path=/review`"), "{problems:?}");
}
