//! Test what functions of `admission_at` get and answer.

use hyper::StatusCode;
use k8s_openapi::ByteString;
use kbr_testing::FakeApi;
use serde_json::json;

use super::*;
use crate::{
    harness,
    webhook::{Call, Turns},
};

async fn review(request: AdmissionRequest) -> Result<Allowed, Rejection> {
    let object = request.object();
    assert!(object["command"] != "panic", "as requested");
    if request.dry_run() || object["command"] == "sh" {
        return Err(Rejection::forbidden(request.user().username.clone()));
    }
    let asked = (
        request.operation(),
        request.resource(),
        request.sub_resource(),
    );
    let (place, name) = (request.namespace(), request.name());
    let patch = json!({"op": "add", "path": "/stdin", "value": false});
    let allowed = Allowed::default().with_warning(format!("{asked:?} {place:?} {name}"));
    Ok(allowed.with_patch([patch]))
}

fn exec(command: &str, dry_run: bool) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CONNECT", "subResource": "exec", "dryRun": dry_run,
            "kind": {"group": "", "version": "v1", "kind": "PodExecOptions"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "shop", "name": "web", "userInfo": {"username": "ada"},
            "object": {"command": command}, "oldObject": null,
        },
    })
}

/// The response to a review.
async fn admit(review_of: &Value) -> Value {
    let mut manager = harness::on(&FakeApi::new());
    manager.admission_at("/exec", review);
    let answer = harness::answer(&manager, "/exec", review_of).await;
    let (_, body) = answer.unwrap();
    serde_json::from_str::<Value>(&body).unwrap()["response"].take()
}

#[track_caller]
fn check_rejected(response: &Value, message: &str) {
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["message"], message);
}

#[tokio::test]
async fn a_connection_is_reviewed_as_the_api_server_sends_it() {
    let response = admit(&exec("ls", false)).await;
    assert_eq!(response["allowed"], true);
    let warning = r#"("CONNECT", "pods", Some("exec")) Some("shop") web"#;
    assert_eq!(response["warnings"], json!([warning]));
    let patch: ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
    let patch: Value = serde_json::from_slice(&patch.0).unwrap();
    let step = json!({"op": "add", "path": "/stdin", "value": false});
    assert_eq!(patch, json!([step]));
}

#[tokio::test]
async fn an_object_that_is_deleted_with_its_collection_has_a_name() {
    let mut deletion = exec("ls", false);
    let request = deletion["request"].as_object_mut().unwrap();
    request.remove("name");
    request.insert("operation".to_owned(), json!("DELETE"));
    request.insert("oldObject".to_owned(), json!({"metadata": {"name": "web"}}));
    let response = admit(&deletion).await;
    let warning = r#"("DELETE", "pods", Some("exec")) Some("shop") web"#;
    assert_eq!(response["warnings"], json!([warning]));
}

#[tokio::test]
async fn a_connection_is_rejected_with_the_message_of_the_webhook() {
    for (request, message) in [
        (exec("sh", false), "ada"),
        (exec("ls", true), "ada"),
        (exec("panic", false), "panic: as requested"),
    ] {
        check_rejected(&admit(&request).await, message);
    }
}

#[tokio::test]
async fn a_request_that_would_take_too_much_memory_is_rejected() {
    let mut request = exec("ls", false);
    request["request"]["object"]["many"] = vec![json!({ "a": 0 }); 100_000].into();
    let response = admit(&request).await;
    let status = &response["status"];
    let message = status["message"].as_str().unwrap();
    let expected = "cannot review the object: request.object.many[";
    assert!(message.starts_with(expected), "{message}");
    let expected = "].a: the limit of 64 MiB of memory for a review is exceeded";
    assert!(message.ends_with(expected), "{message}");
    assert_eq!(
        (&response["allowed"], &status["code"]),
        (&json!(false), &json!(413))
    );
    assert_eq!(status["reason"], "RequestEntityTooLarge");
}

#[tokio::test]
async fn a_request_with_an_object_that_cannot_be_parsed_is_not_admitted() {
    let text = exec("ls", false).to_string().replace("\"ls\"", "1e999");
    let call = Call {
        body: Arc::new(text.into_bytes().into()),
        turns: Turns::unlimited(),
        client: FakeApi::new().client(),
        metrics: crate::metrics::Metrics::new().webhook("/exec"),
    };
    let reply = reviewing(review)(call).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    let expected = "not a review: number out of range";
    assert!(reply.body.starts_with(expected), "{}", reply.body);
}

#[tokio::test]
async fn two_webhooks_at_one_path_are_an_error() {
    let mut manager = harness::on(&FakeApi::new());
    manager.admission_at("/exec", review);
    manager.admission_at("/exec", review);
    let all = manager.mistakes.join("\n");
    assert!(
        all.contains("two webhooks are registered at `/exec`"),
        "{all}"
    );
}
