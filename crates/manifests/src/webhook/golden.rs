//! The cases of controller-tools (`pkg/webhook/testdata`), rewritten: their markers, and the resulting configurations.

use serde_json::{Value, json};

use super::tests::generate;

const VALIDATE: &str = "verbs=create;update,path=/validate-testdata-kubebuilder-io-v1-cronjob,mutating=false,failurePolicy=fail,groups=testdata.kubebuilder.io,resources=cronjobs,versions=v1,name=validation.cronjob.testdata.kubebuilder.io";
const MUTATE: &str = "verbs=create;update,path=/mutate-testdata-kubebuilder-io-v1-cronjob,mutating=true,failurePolicy=fail,groups=testdata.kubebuilder.io,resources=cronjobs,versions=v1,name=default.cronjob.testdata.kubebuilder.io";
/// The end of most markers in the table.
const REST: &str = "matchPolicy=Equivalent,timeoutSeconds=10,admissionReviewVersions=v1;v1beta1";

/// The entry for [`VALIDATE`] or [`MUTATE`], with the fields of `more`.
fn entry(verb: &str, name: &str, more: &Value) -> Value {
    let mut entry = json!({
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": { "service": {
            "name": "webhook-service", "namespace": "system",
            "path": format!("/{verb}-testdata-kubebuilder-io-v1-cronjob"),
        } },
        "failurePolicy": "Fail",
        "name": format!("{name}.cronjob.testdata.kubebuilder.io"),
        "rules": [{
            "apiGroups": ["testdata.kubebuilder.io"], "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"], "resources": ["cronjobs"],
        }],
        "sideEffects": "None",
    });
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

/// [`entry`] for a marker that ends with [`REST`].
fn whole(verb: &str, name: &str, more: &Value) -> Value {
    let mut entry = entry(verb, name, more);
    entry["matchPolicy"] = json!("Equivalent");
    entry["timeoutSeconds"] = json!(10);
    entry
}

fn configuration(mutating: bool, name: &str, webhooks: &[Value]) -> Value {
    let kind = if mutating { "Mutating" } else { "Validating" };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": name },
        "webhooks": webhooks,
    })
}

fn mutating(webhook: Value) -> Value {
    configuration(true, "mutating-webhook-configuration", &[webhook])
}

fn validating(webhooks: &[Value]) -> Value {
    configuration(false, "validating-webhook-configuration", webhooks)
}

/// Asserts that `markers` give exactly `expected`, in order.
#[track_caller]
fn check(markers: &[String], expected: &[Value], problems: &[&str]) {
    let lines: Vec<String> = markers
        .iter()
        .map(|text| format!("// +kubebuilder:{text}\n"))
        .collect();
    let (found, messages) = generate(&lines.concat());
    assert_eq!(json!(found), json!(expected));
    assert_eq!(messages.len(), problems.len(), "{messages:?}");
    assert!(
        messages
            .iter()
            .zip(problems)
            .all(|(message, expected)| message.contains(expected)),
        "{messages:?}"
    );
}

/// In three upstream cases two webhooks of one configuration share a name, which the API server rejects.
const DUPLICATE: &str = "is already the name of the webhook at";

fn three(first: &str, second: &str, third: &str) -> Vec<String> {
    vec![
        format!("webhook:webhookVersions=v1,{VALIDATE},{REST},sideEffects=None{first}"),
        format!("webhook:{VALIDATE},{REST},sideEffects=NoneOnDryRun{second}"),
        format!(
            "webhook:webhookVersions=v1,{MUTATE},{REST},sideEffects=None,reinvocationPolicy=IfNeeded{third}"
        ),
    ]
}

fn two_validating() -> [Value; 2] {
    ["None", "NoneOnDryRun"]
        .map(|effects| whole("validate", "validation", &json!({ "sideEffects": effects })))
}

fn one_mutating() -> Value {
    whole(
        "mutate",
        "default",
        &json!({ "reinvocationPolicy": "IfNeeded" }),
    )
}

#[test]
fn valid() {
    check(
        &three("", "", ""),
        &[mutating(one_mutating()), validating(&two_validating())],
        &[DUPLICATE],
    );
}

#[test]
fn valid_custom_name() {
    let mut markers = three("", "", "");
    markers.push("webhookconfiguration:mutating=true,name=foo".into());
    markers.push("webhookconfiguration:mutating=false,name=bar".into());
    let expected = [
        configuration(true, "foo", &[one_mutating()]),
        configuration(false, "bar", &two_validating()),
    ];
    check(&markers, &expected, &[DUPLICATE]);
}

#[test]
fn valid_custom_service() {
    let markers = three(
        ",serviceName=DEAD,serviceNamespace=BEEF,servicePort=1234",
        "",
        ",serviceName=FOO",
    );
    let [mut first, second] = two_validating();
    let mut third = one_mutating();
    let service = &mut first["clientConfig"]["service"];
    service["name"] = json!("DEAD");
    service["namespace"] = json!("BEEF");
    service["port"] = json!(1234);
    third["clientConfig"]["service"]["name"] = json!("FOO");
    check(
        &markers,
        &[mutating(third), validating(&[first, second])],
        &[DUPLICATE],
    );
}

#[test]
fn valid_ordered() {
    let of = |kind: &str, resources: &str, name: &str| {
        format!(
            "webhook:webhookVersions=v1,verbs=create;update,path=/validate-testdata-kubebuilder-io-v1-{kind},mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=testdata.kubebuilder.io,resources={resources},versions=v1,name={name}.testdata.kubebuilder.io,sideEffects=None,admissionReviewVersions=v1;v1beta1,reinvocationPolicy=Never"
        )
    };
    let expected = |kind: &str, resources: &str, name: &str| {
        let mut entry = entry("validate", "", &json!({ "matchPolicy": "Equivalent" }));
        entry["clientConfig"]["service"]["path"] =
            json!(format!("/validate-testdata-kubebuilder-io-v1-{kind}"));
        entry["name"] = json!(format!("{name}.testdata.kubebuilder.io"));
        entry["rules"][0]["resources"] = json!([resources]);
        entry
    };
    let [a, b, c] = [
        ("cronjob", "cronjobs", "cronjob"),
        ("cronjoblist", "cronjoblist", "cronjoblist"),
        ("deployments", "deployments", "deployment"),
    ];
    for order in [[a, b, c], [c, b, a], [b, a, c]] {
        let markers = order.map(|(kind, resources, name)| of(kind, resources, name));
        let expected = [a, b, c].map(|(kind, resources, name)| expected(kind, resources, name));
        check(&markers, &[validating(&expected)], &[]);
    }
}

#[test]
fn valid_crosspkg_stable() {
    let alpha = VALIDATE
        .replace("-v1-", "-v1alpha1-")
        .replace("versions=v1", "versions=v1alpha1")
        .replace("=validation", "=a");
    let rest = "sideEffects=None,matchPolicy=Equivalent,admissionReviewVersions=v1;v1beta1";
    let markers = [
        format!("webhook:{VALIDATE},{rest}"),
        format!("webhook:{alpha},{rest}"),
    ];
    let policy = json!({ "matchPolicy": "Equivalent" });
    let mut first = entry("validate", "a", &policy);
    first["clientConfig"]["service"]["path"] =
        json!("/validate-testdata-kubebuilder-io-v1alpha1-cronjob");
    first["rules"][0]["apiVersions"] = json!(["v1alpha1"]);
    check(
        &markers,
        &[validating(&[
            first,
            entry("validate", "validation", &policy),
        ])],
        &[],
    );
}

#[test]
fn valid_url() {
    let path = "path=/validate-testdata-kubebuilder-io-v1-cronjob";
    let urls = [
        "https://somewebhook:9443",
        "https://anothersomewebhook:9443",
    ]
    .map(|host| format!("{host}/validate-testdata-kubebuilder-io-v1-cronjob"));
    let mut markers = three("", "", "");
    let mut expected = two_validating();
    for at in 0..2 {
        markers[at] = markers[at].replace(path, &format!("url=\"{}\"", urls[at]));
        expected[at]["clientConfig"] = json!({ "url": urls[at] });
    }
    check(
        &markers,
        &[mutating(one_mutating()), validating(&expected)],
        &[DUPLICATE],
    );
}

#[test]
fn valid_patches() {
    let with = |marker: &str, patch: &Value| {
        vec![format!(
            "webhook:{marker},sideEffects=None,admissionReviewVersions=v1,patch=`{patch}`"
        )]
    };
    let one = json!(["v1"]);
    let labels = |key: &str| json!({ "matchLabels": { key: "true" } });
    let expressions = |key: &str| json!({ "matchExpressions": [{ "key": key, "operator": "In", "values": ["a", "b"] }], "matchLabels": { "c": "d" } });
    for selector in [labels("webhook-enabled"), expressions("environment")] {
        let more = json!({ "admissionReviewVersions": one, "namespaceSelector": selector });
        let markers = with(VALIDATE, &json!({ "namespaceSelector": selector }));
        check(
            &markers,
            &[validating(&[entry("validate", "validation", &more)])],
            &[],
        );
        let more = json!({ "admissionReviewVersions": one, "objectSelector": selector });
        let markers = with(MUTATE, &json!({ "objectSelector": selector }));
        check(
            &markers,
            &[mutating(entry("mutate", "default", &more))],
            &[],
        );
    }
    let removed = with(
        &format!("{VALIDATE},timeoutSeconds=10"),
        &json!({ "timeoutSeconds": null }),
    );
    let expected = entry(
        "validate",
        "validation",
        &json!({ "admissionReviewVersions": one }),
    );
    check(&removed, &[validating(&[expected])], &[]);
}

#[test]
fn markers_that_upstream_rejects_are_rejected() {
    let rejected = |marker: &str, reason: &str| {
        let (found, messages) = generate(&format!("// +kubebuilder:{marker}"));
        assert!(
            found.is_empty() && messages.iter().any(|message| message.contains(reason)),
            "{marker}: {messages:?}"
        );
    };
    let good = format!("webhook:{VALIDATE},{REST},sideEffects=None");
    rejected(
        &format!("{good},webhookVersions=v1beta1"),
        "only `v1` exists",
    );
    rejected(
        &good.replace(",admissionReviewVersions=v1;v1beta1", ""),
        "`admissionReviewVersions` is missing",
    );
    rejected(
        &format!("{good},url=\"https://somewebhook:9443\""),
        "cannot have both",
    );
    rejected(&good.replace("=None", "=Some"), "`sideEffects`");
    rejected(&good.replace("Seconds=10", "Seconds=31"), "from 1 to 30");
    for patch in [
        "{",
        " ",
        r#"{"x":1}"#,
        r#"{"x":null}"#,
        r#"{"TimeoutSeconds":5}"#,
        r#"{"$ptach":"delete"}"#,
    ] {
        rejected(&format!("{good},patch=`{patch}`"), "`patch`");
    }

    rejected(
        &format!("{good},namespaceSelector=matchLabels~a=b"),
        "write it with the API's field names: ``patch=`{\"namespaceSelector\": …}```",
    );

    let duplicate = "webhookconfiguration:mutating=true,name=foo\n// +kubebuilder:webhookconfiguration:mutating=true,name=bar";
    rejected(
        duplicate,
        "the mutating configuration already has a name at `a.rs:1`",
    );
}
