//! Test requests that no API server sends: each gets a rejection in the protocol, or a 4xx.

mod conversions;
mod crowd;
mod mutated;
mod server;
#[path = "../support/tls.rs"]
mod tls;
mod unknown;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kbr_testing::FakeApi;
use kube::CustomResource;
use manager::{
    Manager,
    webhook::{AdmissionRequest, Allowed, Defaulter, Rejection, Request, Validator, Warnings},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::server::Server;

macro_rules! version {
    ($module:ident, $version:literal, $field:ident) => {
        mod $module {
            use super::*;
            #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "a.example.com", version = $version, kind = "Thing")]
            pub struct ThingSpec {
                pub $field: String,
            }
        }
    };
}
version!(v1, "v1", old);
version!(v2, "v2", new);

impl From<v1::Thing> for v2::Thing {
    fn from(thing: v1::Thing) -> Self {
        assert_ne!(thing.spec.old, "panic", "told to");
        Self {
            metadata: thing.metadata,
            spec: v2::ThingSpec {
                new: thing.spec.old,
            },
        }
    }
}

impl From<v2::Thing> for v1::Thing {
    fn from(thing: v2::Thing) -> Self {
        Self {
            metadata: thing.metadata,
            spec: v1::ThingSpec {
                old: thing.spec.new,
            },
        }
    }
}

/// Rejects all objects but one, so that any other allowed object is a defect.
struct Webhook;

impl Defaulter<ConfigMap> for Webhook {
    async fn default(
        &self,
        map: &mut ConfigMap,
        _cx: &Request<ConfigMap>,
    ) -> Result<(), Rejection> {
        if map.metadata.name.as_deref() == Some("big") {
            let text = "x".repeat(1_000_000);
            map.data
                .get_or_insert_default()
                .insert("big".to_owned(), text);
        }
        Ok(())
    }
}

impl Validator<ConfigMap> for Webhook {
    async fn validate_create(
        &self,
        map: &ConfigMap,
        _cx: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        match map.metadata.name.as_deref() {
            Some("good" | "big") => Ok(Warnings::new()),
            Some("slow") => {
                tokio::time::sleep(Duration::from_secs(600)).await;
                Ok(Warnings::new())
            }
            _ => Err(Rejection::forbidden("not this one")),
        }
    }
}

fn register(manager: &mut Manager) {
    manager.defaulter::<ConfigMap>(Webhook);
    manager.validator::<ConfigMap>(Webhook);
    manager.spoke::<v2::Thing, v1::Thing>();
}

const VALIDATE: &str = "/validate--v1-configmap";
const MUTATE: &str = "/mutate--v1-configmap";

fn review(name: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "name": name, "namespace": "default", "operation": "CREATE",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } },
        },
    })
}

fn changed(name: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut review = review(name);
    change(&mut review);
    review.to_string().into_bytes()
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn hostile_requests_are_rejected_and_the_server_keeps_running() {
    let server = Server::start(register);
    let text = review("good").to_string();
    let deep = text.replace(
        "\"uid\":\"u\"",
        &format!("\"uid\":\"u\",\"userInfo\":{}", nested(100_000)),
    );
    let in_object = text.replace(
        "\"apiVersion\":\"v1\"",
        &format!("\"data\":{}", nested(5000)),
    );
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("not JSON", b"<hello/>".to_vec()),
        ("not text", vec![0xff; 100]),
        (
            "what is no text, where nobody reads it",
            [&text.as_bytes()[..text.len() - 1], b",\"more\":\"\xff\"}"].concat(),
        ),
        ("half a review", text.as_bytes()[..text.len() / 2].to_vec()),
        ("another kind of thing", b"[1, 2]".to_vec()),
        ("an empty review", b"{}".to_vec()),
        (
            "no uid",
            changed("good", |it| it["request"]["uid"] = json!("")),
        ),
        (
            "a uid that is a number",
            changed("good", |it| it["request"]["uid"] = json!(1)),
        ),
        (
            "no request",
            changed("good", |it| it["request"] = Value::Null),
        ),
        (
            "a review of long ago",
            changed("good", |it| {
                it["apiVersion"] = json!("admission.k8s.io/v1beta1");
            }),
        ),
        ("deep nesting", deep.into_bytes()),
        ("deep nesting in the object", in_object.into_bytes()),
        (
            "another kind",
            changed("good", |it| it["request"]["kind"]["kind"] = json!("Secret")),
        ),
        (
            "another version",
            changed("good", |it| it["request"]["kind"]["version"] = json!("v2")),
        ),
        (
            "an unknown operation",
            changed("good", |it| it["request"]["operation"] = json!("STEAL")),
        ),
        (
            "no operation",
            changed("good", |it| it["request"]["operation"] = Value::Null),
        ),
        (
            "an object that is a list",
            changed("good", |it| it["request"]["object"] = json!([])),
        ),
        (
            "an object of another kind",
            changed("good", |it| it["request"]["object"]["kind"] = json!("Pod")),
        ),
        (
            "more than 7 MiB",
            changed("good", |it| {
                it["request"]["object"]["data"] = json!({ "a": "x".repeat(8 << 20) });
            }),
        ),
    ];
    for (what, body) in &cases {
        for path in [VALIDATE, MUTATE] {
            let (status, answer) = server.post(path, body).await;
            match status {
                200 => {
                    assert_eq!(
                        answer["response"]["allowed"], false,
                        "{what} at {path}: {answer}"
                    );
                    assert_eq!(answer["response"]["uid"], "u", "{what} at {path}");
                }
                _ => assert!((400..500).contains(&status), "{what} at {path}: {status}"),
            }
        }
    }
    let none = changed("good", |it| it["request"]["object"] = Value::Null);
    let (_, answer) = server.post(VALIDATE, &none).await;
    assert_eq!(answer["response"]["allowed"], false, "no object: {answer}");
    // And the server works as before.
    let good = review("good").to_string().into_bytes();
    let (status, answer) = server.post(VALIDATE, &good).await;
    assert_eq!(
        (status, &answer["response"]["allowed"]),
        (200, &json!(true))
    );
}

/// Changes a little of each Pod.
struct PodWebhook;

impl Defaulter<Pod> for PodWebhook {
    async fn default(&self, pod: &mut Pod, _cx: &Request<Pod>) -> Result<(), Rejection> {
        let containers = &mut pod.spec.get_or_insert_default().containers;
        containers.rotate_left(1);
        for container in containers {
            container.image_pull_policy = Some("Always".to_owned());
        }
        Ok(())
    }
}

impl Validator<Pod> for PodWebhook {}

async fn look(request: AdmissionRequest) -> Result<Allowed, Rejection> {
    assert!(request.object().is_object() && request.old_object().is_object());
    Ok(Allowed::default())
}

/// The largest objects that are no attack: a Pod with 5,000 containers, and a `ConfigMap` with 65,000 short entries.
fn largest() -> [(&'static str, Value); 2] {
    let container = |at| {
        json!({
            "name": format!("container-{at}"), "image": "registry.example.com/a/b:1.2.3",
            "args": ["--some-flag", "--another=1"], "ports": [{ "containerPort": 8080, "name": "http" }],
            "env": [{ "name": "A", "value": "a" }, { "name": "B", "value": "b" }],
        })
    };
    let containers: Vec<_> = (0..5000).map(container).collect();
    let data = (0..65_000).map(|at| (format!("{at:08}"), json!("a value")));
    let data: serde_json::Map<_, _> = data.collect();
    [
        (
            "Pod",
            json!({ "metadata": { "name": "good" }, "spec": { "containers": containers } }),
        ),
        (
            "ConfigMap",
            json!({ "metadata": { "name": "good" }, "data": data }),
        ),
    ]
}

#[tokio::test]
async fn the_largest_real_objects_are_reviewed() {
    let server = Server::start(|manager: &mut Manager| {
        register(manager);
        manager.defaulter::<Pod>(PodWebhook);
        manager.validator::<Pod>(PodWebhook);
        manager.admission_at("/look", look);
    });
    for (kind, object) in largest() {
        let body = changed("good", |review| {
            let request = &mut review["request"];
            request["operation"] = json!("UPDATE");
            request["kind"]["kind"] = json!(kind);
            request["object"] = object.clone();
            request["oldObject"] = object;
        });
        for task in ["mutate", "validate", "look"] {
            let path = match task {
                "look" => "/look".to_owned(),
                _ => format!("/{task}--v1-{}", kind.to_lowercase()),
            };
            let (status, answer) = server.post(&path, &body).await;
            let response = &answer["response"];
            let what = format!("{kind} to {path}: {status} {}", response["status"]);
            assert_eq!(response["allowed"], true, "{what}");
            let changes = response["patch"].as_str().unwrap_or_default();
            assert_eq!(
                changes.len() > 1_000_000,
                kind == "Pod" && task == "mutate",
                "{what}"
            );
        }
    }
}

#[tokio::test]
async fn large_objects_and_large_patches_are_answered() {
    let server = Server::start(register);
    let large = changed("good", |it| {
        it["request"]["object"]["data"] = json!({ "a": "x".repeat(3 << 20) });
    });
    let (_, answer) = server.post(VALIDATE, &large).await;
    assert_eq!(answer["response"]["allowed"], true);
    let (_, answer) = server
        .post(MUTATE, review("big").to_string().as_bytes())
        .await;
    let patch = answer["response"]["patch"].as_str().unwrap_or_default();
    assert!(patch.len() > 1_000_000);
}

#[tokio::test]
async fn an_invalid_request_gets_a_4xx_and_a_late_response_a_504() {
    let server = Server::start(register);
    let good = review("good").to_string();
    let (status, _) = server.post("/elsewhere", good.as_bytes()).await;
    assert_eq!(status, 404);
    let get = format!("GET {VALIDATE} HTTP/1.1\r\n");
    assert_eq!(server.send(&get, b"").await.unwrap().0, 405);
    let plain = format!("POST {VALIDATE} HTTP/1.1\r\ncontent-type: text/plain\r\n");
    assert_eq!(server.send(&plain, good.as_bytes()).await.unwrap().0, 415);
    let slow = review("slow").to_string();
    let path = format!("{VALIDATE}?timeout=100ms");
    assert_eq!(server.post(&path, slow.as_bytes()).await.0, 504);
}
