//! Compares what comes of the answers of webhooks, and what they are asked.
//!
//! The annotations of an object have the answer of each webhook: a patch, or the name of another answer.

use std::{
    net::TcpListener,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use hyper::Method;
use kbr_testing::FakeApi;
use manager::{
    Manager, Options,
    webhook::{AdmissionRequest, Allowed, FieldError, FieldErrors, Rejection},
};
use serde_json::{Value, json};

use crate::{
    cases,
    compare::Comparison,
    talk::{self, Case, Side},
};

/// The webhooks, in the order of their configurations.
const MUTATING: [&str; 3] = ["mutate-a", "mutate-b", "mutate-c"];
const VALIDATING: [&str; 5] = [
    "validate-a",
    "validate-b",
    "validate-labelled",
    "validate-matched",
    "validate-matched-or-not",
];

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// What webhooks were asked, by their names.
type Asked = Arc<Mutex<Vec<(&'static str, Value)>>>;

pub async fn all_cases_end_the_same() {
    let client = kube::Client::try_default().await.unwrap();
    let fake = FakeApi::new();
    for crd in cases::definitions() {
        talk::install(&client, &crd).await;
        fake.define(&crd);
    }
    let [asked_real, asked_fake] = [Asked::default(), Asked::default()];
    let (mut manager, port, ca) = real().await;
    register(&mut manager, &asked_real);
    let serving = tokio::spawn(async move { manager.run_until(std::future::pending()).await });
    let _run = fake.run(|manager| register(manager, &asked_fake)).unwrap();
    for configuration in configurations(port, &ca) {
        let kind = configuration["kind"].as_str().unwrap();
        let path = format!("{CONFIGURATIONS}/{}s", kind.to_lowercase());
        for client in [&client, &fake.client()] {
            let (code, answer) = talk::write(
                client,
                &Method::POST,
                &path,
                "application/json",
                &configuration,
            )
            .await;
            assert_eq!(code, 201, "{answer}");
        }
    }
    let (cases, mut comparison) = (cases::reviewed(), Comparison::default());
    assert!(cases.len() >= 30, "{} cases", cases.len());
    for Case { name, steps } in cases {
        let mut real = Side::new(client.clone(), name).await;
        let mut fake = Side::fake(fake.client(), &real);
        select(&client, &fake, real.namespace()).await;
        for (at, step) in steps.iter().enumerate() {
            asked_real.lock().unwrap().clear();
            asked_fake.lock().unwrap().clear();
            let (real, fake) = (real.take(step).await, fake.take(step).await);
            let (mut real, mut fake) = step.comparable(real, fake);
            real["asked"] = reviews(&asked_real);
            fake["asked"] = reviews(&asked_fake);
            if !comparison.of_step(name, at, &real, &fake) {
                break;
            }
        }
    }
    serving.abort();
    comparison.assert_equal();
}

/// A manager that serves webhooks to the real API server, with its port and the CA of its certificate.
async fn real() -> (Manager, u16, String) {
    let folder = PathBuf::from(std::env::var_os("KBR_ENVTEST_RELAY").unwrap());
    let ca = std::fs::read_to_string(folder.join("ca.crt")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut options = Options::default();
    options.health_probe_bind_address = "0".parse().unwrap();
    options.webhook_host = Some("127.0.0.1".to_owned());
    options.webhook_port = port;
    options.webhook_cert_path = Some(folder);
    let manager = Manager::new(options, "webhooks.example.com").await.unwrap();
    (manager, port, ca)
}

fn register(manager: &mut Manager, asked: &Asked) {
    for name in MUTATING.into_iter().chain(VALIDATING) {
        let asked = asked.clone();
        manager.admission_at(&format!("/{name}"), move |request: AdmissionRequest| {
            asked.lock().unwrap().push((name, request.json().clone()));
            let answer = answer(name, &request);
            async move { answer }
        });
    }
}

/// The answer in the annotation of this name.
fn answer(name: &str, request: &AdmissionRequest) -> Result<Allowed, Rejection> {
    let object = Some(request.object()).filter(|object| !object.is_null());
    let object = object.unwrap_or_else(|| request.old_object());
    match object["metadata"]["annotations"][name].as_str() {
        None => Ok(Allowed::default()),
        Some("keep") if request.operation() != "DELETE" => Ok(Allowed::default()),
        Some("keep") => Err(Rejection::forbidden("it is to be kept")),
        Some("forbid") => Err(Rejection::forbidden("not today")),
        Some("bad") => Err(Rejection::bad_request("what is this")),
        Some("fail") => Err(anyhow::anyhow!("the database is away").into()),
        Some("fields") => {
            let mut errors = FieldErrors::default();
            errors.push(FieldError::required("spec.order", "say where to go"));
            errors.push(FieldError::forbidden("spec.size", "too large"));
            Err(errors.into())
        }
        Some("warn") => Ok(Allowed::default().with_warning(format!("{name}: \"mind\" the gap"))),
        Some(patch) => {
            let steps: Vec<Value> = serde_json::from_str(patch).unwrap();
            Ok(Allowed::default().with_patch(steps))
        }
    }
}

/// The configurations. Those that set defaults are in two, the first of which is created last.
fn configurations(port: u16, ca: &str) -> Vec<Value> {
    let ca = k8s_openapi::ByteString(ca.as_bytes().to_vec());
    let webhook = |name: &str, more: Value| {
        let mut webhook = json!({
            "name": format!("{name}.example.com"),
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/{name}"), "caBundle": ca},
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"reviewed": "yes"}},
            "rules": [
                {"operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": ["crew.example.com"], "apiVersions": ["*"],
                    "resources": ["captains", "captains/status", "boats"]},
                {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]},
                {"operations": ["*"], "apiGroups": ["crew.example.com"], "apiVersions": ["v2"], "resources": ["rafts"]},
            ],
        });
        for (field, value) in more.as_object().unwrap() {
            webhook[field] = value.clone();
        }
        webhook
    };
    let configuration = |kind: &str, name: &str, webhooks: &[Value]| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": name}, "webhooks": webhooks,
        })
    };
    let [a, b, c] = MUTATING.map(|name| webhook(name, json!({})));
    let again = webhook(MUTATING[0], json!({"reinvocationPolicy": "IfNeeded"}));
    assert_eq!(a["name"], again["name"]);
    let [first, second] = [VALIDATING[0], VALIDATING[1]].map(|name| webhook(name, json!({})));
    let labelled = webhook(
        VALIDATING[2],
        json!({"objectSelector": {"matchExpressions": [{"key": "checked", "operator": "Exists"}]}}),
    );
    let matched = |name: &str, policy: &str| {
        let conditions = [
            "!(request.operation in ['DELETE', 'CONNECT'])",
            "object.spec.size > 5",
            "oldObject == null || object.spec != oldObject.spec || 'system:nodes' in request.userInfo.groups",
        ];
        let conditions = (1..)
            .zip(conditions)
            .map(|(at, expression)| json!({"name": format!("c{at}"), "expression": expression}));
        let mates = json!([{"operations": ["*"], "apiGroups": ["crew.example.com"], "apiVersions": ["v1"], "resources": ["mates"]}]);
        webhook(
            name,
            json!({"failurePolicy": policy, "matchConditions": conditions.collect::<Vec<_>>(), "rules": mates}),
        )
    };
    let matched = [
        matched(VALIDATING[3], "Fail"),
        matched(VALIDATING[4], "Ignore"),
    ];
    vec![
        configuration("Mutating", "second", &[c]),
        configuration("Mutating", "first", &[again, b]),
        configuration(
            "Validating",
            "checks",
            &[&[first, second, labelled], &matched[..]].concat(),
        ),
    ]
}

/// Makes both servers ask the webhooks about the objects of a namespace, and waits until the real one does.
async fn select(real: &kube::Client, fake: &Side, namespace: &str) {
    let path = format!("/api/v1/namespaces/{namespace}");
    let labelled = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"reviewed": "yes"}},
    });
    let media_type = "application/merge-patch+json";
    let (code, _) = talk::write(real, &Method::PATCH, &path, media_type, &labelled).await;
    assert_eq!(code, 200);
    let namespaces = "/api/v1/namespaces";
    let (code, _) = talk::write(
        fake.client(),
        &Method::POST,
        namespaces,
        "application/json",
        &labelled,
    )
    .await;
    assert_eq!(code, 201);
    let maps = format!("{path}/configmaps?dryRun=All");
    kbr_testing::eventually(Duration::from_secs(60), "the webhooks are asked", async || {
        for name in [MUTATING[0], MUTATING[2], VALIDATING[0]] {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "annotations": {name: "bad"}},
            });
            let (code, _) = talk::write(real, &Method::POST, &maps, "application/json", &map).await;
            if code != 400 {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// What the webhooks were asked in one step, without the parts that must differ. Those that validate are asked at the same time.
fn reviews(asked: &Asked) -> Value {
    let mut asked = asked.lock().unwrap().clone();
    let first = asked
        .iter()
        .position(|(name, _)| VALIDATING.contains(name))
        .unwrap_or(asked.len());
    asked[first..].sort_by_key(|(name, _)| *name);
    let asked = asked.into_iter().map(|(name, mut request)| {
        for field in ["uid", "userInfo"] {
            request[field] = Value::Null;
        }
        if request["object"]["metadata"]["generateName"].is_string() && request["name"].is_string()
        {
            request["name"] = json!("generated");
        }
        for field in ["object", "oldObject"] {
            if request[field].is_object() {
                request[field] = talk::object(request[field].take());
            }
        }
        json!({ name: request })
    });
    asked.collect()
}
