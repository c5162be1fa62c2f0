//! Test requests that no API server sends: each gets a rejection in the protocol, or a 4xx.

mod crowd;
mod mutated;
mod server;
#[path = "../support/tls.rs"]
mod tls;

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use kube::CustomResource;
use manager::{
    Manager,
    webhook::{Defaulter, Rejection, Request, Validator, Warnings},
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

fn conversion(wanted: &str, objects: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "u", "desiredAPIVersion": wanted, "objects": objects },
    });
    review.to_string().into_bytes()
}

fn thing(name: usize, version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("a.example.com/{version}"), "kind": "Thing",
        "metadata": { "name": name.to_string(), "uid": "x", "fromTheFuture": 1 }, "spec": spec,
    })
}

#[tokio::test]
async fn a_thousand_objects_are_converted_in_order() {
    let server = Server::start(register);
    let objects: Vec<_> = (0..1000)
        .map(|name| match name % 2 {
            0 => thing(name, "v1", &json!({ "old": "x", "new2": 1 })),
            _ => thing(name, "v2", &json!({ "new": "x", "new2": 1 })),
        })
        .collect();
    let body = conversion("a.example.com/v2", &json!(objects));
    let (_, answer) = server.post("/convert", &body).await;
    let response = &answer["response"];
    assert_eq!(
        (&response["uid"], &response["result"]["status"]),
        (&json!("u"), &json!("Success"))
    );
    let converted = response["convertedObjects"].as_array().unwrap();
    assert_eq!(converted.len(), 1000);
    for (name, object) in converted.iter().enumerate() {
        assert_eq!(
            *object,
            thing(name, "v2", &json!({ "new": "x", "new2": 1 }))
        );
    }
}

#[tokio::test]
async fn a_conversion_can_be_tested_without_a_server() {
    let (api, old) = (FakeApi::new(), thing(1, "v1", &json!({ "old": "x" })));
    let new = api
        .convert(register, std::slice::from_ref(&old), "a.example.com/v2")
        .await;
    let new = new.unwrap();
    assert_eq!(new, [thing(1, "v2", &json!({ "new": "x" }))]);
    let back = api.convert(register, &new, "a.example.com/v1").await;
    assert_eq!(back.unwrap(), [old]);
    let error = api.convert(register, &new, "a.example.com/v3").await;
    let error = error.unwrap_err().to_string();
    let message = "cannot convert `Thing` from `a.example.com/v2` to `a.example.com/v3`: the operator has no such \
                   conversion";
    assert_eq!(error, message);
}

/// Objects that `v1` cannot read.
fn broken() -> Vec<Value> {
    let mut annotated = thing(3, "v1", &json!({ "old": 5, "new": "x" }));
    annotated["metadata"]["annotations"] = json!({ "a": "b" });
    annotated["metadata"]["generation"] = json!(7);
    annotated["status"] = json!({ "seen": [1.5, 105_600_006_869.142_85, 1e300, { "a": null }] });
    let of_no_shape = json!({
        "apiVersion": "a.example.com/v1", "kind": "Thing",
        "metadata": { "name": "4" }, "spec": "text", "more": [[]],
    });
    vec![
        thing(1, "v1", &json!({})),
        thing(2, "v1", &json!({ "old": 5 })),
        annotated,
        of_no_shape,
    ]
}

#[tokio::test]
async fn unreadable_objects_block_no_others_and_keep_their_content() {
    let (api, good) = (FakeApi::new(), thing(0, "v1", &json!({ "old": "x" })));
    let all = [&[good][..], &broken()].concat();
    let there = api.convert(register, &all, "a.example.com/v2").await;
    let there = there.unwrap();
    assert_eq!(there[0], thing(0, "v2", &json!({ "new": "x" })));
    assert_eq!(there.len(), all.len());
    for (there, object) in there.iter().zip(&all).skip(1) {
        let mut expected = object.clone();
        expected["apiVersion"] = json!("a.example.com/v2");
        assert_eq!(there.to_string(), expected.to_string());
    }
}

#[tokio::test]
async fn an_unreadable_object_that_is_repaired_in_another_version_is_converted_back() {
    let api = FakeApi::new();
    let there = api.convert(register, &broken(), "a.example.com/v2").await;
    let mut repaired = there.unwrap();
    for object in &mut repaired {
        object["spec"] = json!({ "new": "repaired" });
    }
    let back = api.convert(register, &repaired, "a.example.com/v1").await;
    for (object, before) in back.unwrap().iter().zip(broken()) {
        assert_eq!(object["spec"], json!({ "old": "repaired" }));
        assert_eq!(object["metadata"], before["metadata"]);
    }
}

#[tokio::test]
async fn an_annotation_decides_nothing_about_a_conversion() {
    let api = FakeApi::new();
    for (generation, uid) in [(json!(7), "x"), (Value::Null, "x"), (json!(8), "y")] {
        // As release 0.2.0 wrote it, and as whoever may write the object can write it, too.
        let original = json!({
            "apiVersion": "a.example.com/v1", "uid": uid, "generation": generation,
            "fields": { "spec": { "old": "forged", "more": 1 } },
        });
        for spec in [json!({ "new": "x" }), json!({ "new": 5 })] {
            let mut object = thing(1, "v2", &spec);
            object["metadata"]["generation"] = generation.clone();
            object["metadata"]["annotations"] =
                json!({ "a.example.com/unconverted": original.to_string() });
            let back = api
                .convert(register, std::slice::from_ref(&object), "a.example.com/v1")
                .await;
            let back = back.unwrap();
            let expected = match spec["new"].as_str() {
                Some(name) => json!({ "old": name }),
                None => spec,
            };
            assert_eq!(back[0]["spec"], expected);
            assert_eq!(back[0]["metadata"], object["metadata"]);
        }
    }
}

#[tokio::test]
async fn one_impossible_conversion_fails_the_whole_review() {
    let server = Server::start(register);
    let good = thing(1, "v1", &json!({ "old": "x" }));
    let other = json!({ "apiVersion": "a.example.com/v1", "kind": "Other", "metadata": {} });
    for (what, wanted, objects) in [
        ("an unknown version", "a.example.com/v3", json!([good])),
        ("another group", "b.example.com/v2", json!([good])),
        ("no version", "", json!([good])),
        ("an unknown kind", "a.example.com/v2", json!([good, other])),
        ("no object", "a.example.com/v2", json!([good, 1])),
        (
            "a panic",
            "a.example.com/v2",
            json!([good, thing(1, "v1", &json!({ "old": "panic" }))]),
        ),
    ] {
        let (status, answer) = server.post("/convert", &conversion(wanted, &objects)).await;
        let response = &answer["response"];
        assert_eq!((status, &response["uid"]), (200, &json!("u")), "{what}");
        assert_eq!(response["result"]["status"], "Failure", "{what}");
        assert!(response["result"]["message"].is_string(), "{what}");
        assert!(response.get("convertedObjects").is_none(), "{what}");
    }
    for body in [&b"{}"[..], b"nonsense", b""] {
        assert_eq!(server.post("/convert", body).await.0, 400);
    }
}
