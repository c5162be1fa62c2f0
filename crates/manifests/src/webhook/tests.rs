mod paths;

use kbr_scaffold::rust::Source;
use serde_json::{Value, json};

use super::configurations::{configurations, read, unmanaged};
use super::entry::Names;
use crate::markers::{Marker, markers};

pub(super) fn names() -> Names {
    Names {
        mutating: "mutating-webhook-configuration".into(),
        validating: "validating-webhook-configuration".into(),
        service: "webhook-service".into(),
        namespace: "system".into(),
    }
}

/// The configurations generated from comments, and every problem.
pub(super) fn generate(source: &str) -> (Vec<Value>, Vec<String>) {
    let mut problems = Vec::new();
    let found = markers(&Source::new("a.rs", source), &mut problems);
    let called = |name: &str| -> Vec<Marker> {
        found
            .iter()
            .filter(|marker| marker.name == name)
            .cloned()
            .collect()
    };
    let own = [("crew.example.com".to_owned(), "captains".to_owned())];
    let webhooks = read(&names(), &called("webhook"), &own, &mut problems);
    let own = called("webhookconfiguration");
    let configurations = configurations(&names(), &own, &webhooks, &mut problems);
    (
        configurations,
        problems.iter().map(ToString::to_string).collect(),
    )
}

const GOOD: &str = "path=/mutate-crew-example-com-v1-captain,mutating=true,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.crew.example.com,admissionReviewVersions=v1";

/// Asserts that the valid marker with `from` replaced is rejected for exactly one reason.
#[track_caller]
fn rejected(from: &str, to: &str, reason: &str) {
    assert!(GOOD.contains(from), "{from}");
    let (_, problems) = generate(&format!("// +kbr:webhook:{}", GOOD.replace(from, to)));
    let [problem] = &problems[..] else {
        panic!("one problem with {to}, not {problems:#?}");
    };
    assert!(
        problem.starts_with("`a.rs:1`: ") && problem.contains(reason),
        "{problem}"
    );
}

#[test]
fn a_marker_becomes_an_entry_of_its_configuration() {
    let (found, problems) = generate(&format!("// +kbr:webhook:{GOOD}"));
    assert_eq!(problems, [""; 0]);
    let expected = json!([{
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": "mutating-webhook-configuration" },
        "webhooks": [{
            "name": "mcaptain-v1.crew.example.com",
            "admissionReviewVersions": ["v1"],
            "clientConfig": { "service": {
                "name": "webhook-service", "namespace": "system", "path": "/mutate-crew-example-com-v1-captain",
            } },
            "failurePolicy": "Fail",
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["captains"],
            }],
            "sideEffects": "None",
        }],
    }]);
    assert_eq!(json!(found), expected);
}

#[test]
fn without_markers_there_is_no_configuration() {
    assert_eq!(generate("fn main() {}"), (vec![], vec![]));
}

#[test]
fn names_contain_the_project_or_the_prefix_in_its_table() {
    let head = "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";
    let names =
        |table: &str| Names::of(&kbr_scaffold::project::parse(&format!("{head}{table}")).unwrap());
    let others = names("[names]\nprefix = \"sea\"\nnamespace = \"deep\"\n");
    assert_eq!(others.mutating, "sea-mutating-webhook-configuration");
    assert_eq!(
        (&*others.service, &*others.namespace),
        ("sea-webhook", "deep")
    );
    let names = names("");
    assert_eq!(names.mutating, "captains-mutating-webhook-configuration");
    assert_eq!(
        names.validating,
        "captains-validating-webhook-configuration"
    );
    assert_eq!(
        (&*names.service, &*names.namespace),
        ("captains-webhook", "captains-system")
    );
}

#[test]
fn missing_arguments_are_reported() {
    let required = [
        "path",
        "mutating",
        "failurePolicy",
        "groups",
        "resources",
        "verbs",
        "versions",
        "name",
        "admissionReviewVersions",
    ];
    for name in required {
        let argument = GOOD
            .split(',')
            .find(|argument| argument.starts_with(&format!("{name}=")))
            .unwrap();
        rejected(
            argument,
            &format!("{name}="),
            &format!("`{name}` is missing"),
        );
    }
    rejected("sideEffects=None,", "", "`sideEffects` is missing");
}

#[test]
fn invalid_values_are_rejected_with_the_valid_ones() {
    rejected(
        "=true",
        "=yes",
        "`mutating` must be `true` or `false`, not `yes`",
    );
    rejected(
        "=fail",
        "=fall",
        "`fall` is not a valid `failurePolicy`: use `Fail` or `Ignore`",
    );
    rejected(
        "create;update",
        "create;updat",
        "`updat` is not a webhook verb\n    help: did you mean `update`",
    );
    rejected(
        "create;update",
        "get",
        "`create`, `update`, `delete`, `connect` or `*`",
    );
    rejected("=None", "=Some", "is not `None` or `NoneOnDryRun`");
    rejected(
        "versions=v1,",
        "versions=v1,timeoutSeconds=31,",
        "`timeoutSeconds` must be from 1 to 30",
    );
    rejected(
        "versions=v1,",
        "versions=v1,timeoutSeconds=x,",
        "`timeoutSeconds` must be an integer, not `x`",
    );
    rejected(
        "versions=v1,",
        "versions=v1,matchPolicy=Same,",
        "`Same` is not a valid `matchPolicy`: use `Exact` or `Equivalent`",
    );
    rejected(
        "versions=v1,",
        "versions=v1,webhookVersions=v1beta1,",
        "only `v1` exists",
    );
    rejected("ReviewVersions=v1", "ReviewVersions=v1beta1", "lacks `v1`");
    rejected(
        "captains,",
        "captains;*/*,",
        "it must be the only item of its list",
    );
    rejected(
        "name=mcaptain-v1.crew.example.com",
        "name=captain.example",
        "not a valid webhook name",
    );
    rejected(
        "versions=v1,",
        "versions=v1,timeout=3,",
        "`timeout` is not an argument of a `webhook` marker",
    );
    rejected(
        "versions=v1,",
        "versions=v1,sideEffect=None,",
        "did you mean `sideEffects`",
    );
}

#[test]
fn an_unknown_resource_is_rejected_with_the_nearest_name() {
    rejected("=captains", "=captain", "help: did you mean `captains`");
    rejected(
        "groups=crew.example.com,resources=captains",
        "groups=core,resources=pod",
        "`pod` is not a resource of group `core`\n    help: did you mean `pods`",
    );
}

#[test]
fn a_webhook_is_at_a_path_or_at_a_url() {
    let path = "path=/mutate-crew-example-com-v1-captain";
    rejected(
        path,
        &format!("{path},url=\"https://x.io\""),
        "cannot have both",
    );
    rejected(path, "url=\"http://x.io\"", "not a valid webhook URL");
    rejected(path, "url=\"https://x.io/a?b\"", "not a valid webhook URL");
    rejected(
        path,
        "url=\"https://x.io\",servicePort=1",
        "cannot have a service",
    );
    rejected(path, "path=mutate", "not a valid webhook path");
    rejected(path, "path=/a//b", "not a valid webhook path");
    rejected(path, "path=/Captain", "not a valid webhook path");
}

#[test]
fn a_patch_sets_fields_that_have_no_argument() {
    let patch = r#"{"namespaceSelector":{"matchLabels":{"a":"b"}},"matchConditions":[{"name":"x","expression":"true"}],"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"],"scope":"Namespaced"}]}"#;
    let (found, problems) = generate(&format!("// +kbr:webhook:{GOOD},patch=`{patch}`"));
    assert_eq!(problems, [""; 0]);
    let webhook = &found[0]["webhooks"][0];
    assert_eq!(
        webhook["namespaceSelector"],
        json!({ "matchLabels": { "a": "b" } })
    );
    assert_eq!(
        webhook["matchConditions"],
        json!([{ "name": "x", "expression": "true" }])
    );
    assert_eq!(webhook["rules"].as_array().unwrap().len(), 1);
    assert_eq!(webhook["rules"][0]["scope"], "Namespaced");

    let last = "admissionReviewVersions=v1";
    let with = |patch: &str| format!("{last},patch=`{patch}`");
    rejected(last, &with("[]"), "`patch` is not a JSON object");
    rejected(last, &with("{"), "`patch` is not a JSON object");
    rejected(
        last,
        &with(r#"{"objectselector":{}}"#),
        "unknown webhook field `objectselector`\n    help: did you mean `objectSelector`",
    );
    rejected(
        last,
        &with(r#"{"timeoutSeconds":40}"#),
        "must be from 1 to 30",
    );
    let condition = |expression: &str| {
        let condition = json!({ "name": "x", "expression": expression });
        with(&json!({ "matchConditions": [condition] }).to_string())
    };
    rejected(
        last,
        &condition("request.user == 'a'"),
        "the match condition `x`, `request.user == 'a'`: unknown field `user`",
    );
    rejected(last, &condition("true &&"), "at character");
    let condition_x = json!({ "name": "x", "expression": "true" });
    rejected(
        last,
        &with(&json!({ "matchConditions": [condition_x, condition_x] }).to_string()),
        "duplicate match condition `x`",
    );
    rejected(
        last,
        &with(r#"{"sideEffects":null}"#),
        "`sideEffects` is missing",
    );
}

#[test]
fn a_name_is_unique_within_a_configuration() {
    let marker = format!("// +kbr:webhook:{GOOD}\n");
    let (_, problems) = generate(&(marker.clone() + &marker));
    let [problem] = &problems[..] else {
        panic!("one problem, not {problems:?}");
    };
    assert!(problem.starts_with(
        "`a.rs:2`: `mcaptain-v1.crew.example.com` is already the name of the webhook at `a.rs:1`"
    ));
    let other = marker.replace("mutating=true", "mutating=false");
    assert_eq!(generate(&(marker + &other)).1, [""; 0]);
}

#[test]
fn a_configuration_unknown_to_the_operator_gets_no_ca_bundle() {
    let source = "// +kbr:webhookconfiguration:mutating=true,name=foo\n// +kbr:webhookconfiguration:mutating=false,name=validating-webhook-configuration";
    let found = markers(&Source::new("a.rs", source), &mut Vec::new());
    let [problem] = &unmanaged(&names(), &found)[..] else {
        panic!("one problem");
    };
    let text = problem.to_string();
    assert!(
        text.starts_with("`a.rs:1`: the operator manages the CA bundle of `mutating-webhook-configuration` only: calls to `foo` would fail TLS verification"),
        "{text}"
    );
}

#[test]
fn a_marker_in_a_doc_comment_is_rejected() {
    let (found, problems) = generate(&format!("/// +kbr:webhook:{GOOD}"));
    assert!(
        found.is_empty() && problems[0].contains("in a doc comment"),
        "{problems:?}"
    );
}

#[test]
fn a_field_unknown_to_kbr_is_allowed_by_its_comment() {
    let newer = [
        ("unknown-webhook-field", r#",patch=`{"newField":1}`"#),
        (
            "unknown-function",
            r#",patch=`{"matchConditions":[{"name":"a","expression":"future.sail(object)"}]}`"#,
        ),
    ];
    for (id, patch) in newer {
        let marker = format!("// +kbr:webhook:{GOOD}{patch}");
        let (_, problems) = generate(&marker);
        let allow = format!("// +kbr:lint:allow={id}");
        let [problem] = &problems[..] else {
            panic!("one problem: {problems:#?}");
        };
        assert!(problem.contains(&allow), "{problem}");
        let (found, problems) = generate(&format!("{allow}\n{marker}"));
        assert_eq!(problems, [""; 0]);
        assert_eq!(found.len(), 1);
    }
}
