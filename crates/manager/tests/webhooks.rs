//! Test webhooks from the user's view: their answers to real reviews, without an API server.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kbr_testing::{Admitted, FakeApi};
use manager::{
    Manager, kind,
    webhook::{
        Defaulter, FieldError, FieldErrors, Operation, Rejection, Request, Validator, Warnings,
    },
};
use serde_json::{Value, json};

/// Gives each Pod a priority and a sidecar, and validates its names.
struct PodWebhook;

impl Defaulter<Pod> for PodWebhook {
    async fn default(&self, pod: &mut Pod, cx: &Request<Pod>) -> Result<(), Rejection> {
        if cx.user().username == "nobody" {
            return Err(Rejection::forbidden("nobody may not"));
        }
        let spec = pod.spec.get_or_insert_default();
        spec.priority.get_or_insert(7);
        let image = spec
            .containers
            .first()
            .and_then(|first| first.image.clone());
        assert!(image.as_deref() != Some("panic"), "told to");
        Ok(())
    }
}

impl Validator<Pod> for PodWebhook {
    async fn validate_create(&self, pod: &Pod, _cx: &Request<Pod>) -> Result<Warnings, Rejection> {
        let spec = pod.spec.clone().unwrap_or_default();
        let mut errors = FieldErrors::default();
        for (at, container) in spec.containers.iter().enumerate() {
            let path = format!("spec.containers[{at}]");
            match container.image.as_deref() {
                None => errors.push(FieldError::required(format!("{path}.image"), "")),
                Some("panic") => panic!("told to"),
                Some("fail") => drop("x".parse::<i32>()?),
                Some("latest") => return Ok(vec!["pin the image".to_owned()]),
                Some(_) => {}
            }
        }
        errors.check()?;
        Ok(Warnings::new())
    }

    async fn validate_update(
        &self,
        old: &Pod,
        new: &Pod,
        cx: &Request<Pod>,
    ) -> Result<Warnings, Rejection> {
        assert_eq!(cx.operation(), Operation::Update);
        assert_eq!(cx.old(), Some(old));
        if old.spec.as_ref().and_then(|spec| spec.priority)
            != new.spec.as_ref().and_then(|spec| spec.priority)
        {
            return Err(FieldError::forbidden("spec.priority", "is immutable").into());
        }
        Ok(Warnings::new())
    }

    async fn validate_delete(&self, pod: &Pod, cx: &Request<Pod>) -> Result<Warnings, Rejection> {
        assert_eq!((cx.namespace(), cx.name()), (Some("default"), "a"));
        match &pod.metadata.labels {
            Some(labels) if labels.contains_key("keep") => {
                Err(Rejection::forbidden("it is to be kept"))
            }
            _ => Ok(Warnings::new()),
        }
    }
}

fn register(manager: &mut Manager) {
    manager.defaulter::<Pod>(PodWebhook);
    manager.validator::<Pod>(PodWebhook);
}

/// A review as kube-apiserver 1.36 sends it.
fn review(operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "2f7a8a52-7a7f-4b73-9d7d-3f6d3c1a7b10",
            "kind": { "group": "", "version": "v1", "kind": "Pod" },
            "resource": { "group": "", "version": "v1", "resource": "pods" },
            "requestKind": { "group": "", "version": "v1", "kind": "Pod" },
            "requestResource": { "group": "", "version": "v1", "resource": "pods" },
            "name": "a", "namespace": "default", "operation": operation,
            "userInfo": { "username": "admin", "groups": ["system:masters", "system:authenticated"] },
            "object": object, "oldObject": old, "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        },
    })
}

fn pod(image: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "a", "namespace": "default" },
        "spec": { "containers": [{ "name": "main", "image": image, "fromTheFuture": 1 }], "new": true },
    })
}

async fn create(image: Value) -> Admitted {
    let review = review("CREATE", &pod(&image), &Value::Null);
    FakeApi::new().admit(register, &review).await
}

#[tokio::test]
async fn an_object_that_is_deleted_with_its_collection_has_a_name() {
    let mut review = review("DELETE", &Value::Null, &pod(&"a:1".into()));
    review["request"].as_object_mut().unwrap().remove("name");
    assert!(FakeApi::new().admit(register, &review).await.allowed);
}

#[tokio::test]
async fn a_defaulted_object_keeps_its_unknown_fields() {
    let admitted = create("a:1".into()).await;
    let mut expected = pod(&"a:1".into());
    expected["spec"]["priority"] = json!(7);
    assert!(admitted.allowed);
    assert_eq!(admitted.object, expected);
    assert_eq!(admitted.object::<Pod>().spec.unwrap().priority, Some(7));
}

#[tokio::test]
async fn field_errors_are_returned_as_causes() {
    let admitted = create(Value::Null).await;
    assert!(!admitted.allowed);
    let field = "spec.containers[0].image".to_owned();
    assert_eq!(admitted.causes, [(field, "Required value".to_owned())]);
    let message = r#"Pod "a" is invalid: spec.containers[0].image: Required value"#;
    assert_eq!(admitted.message, message);
}

#[tokio::test]
async fn warnings_are_returned_and_reject_nothing() {
    let admitted = create("latest".into()).await;
    assert_eq!(admitted.warnings, ["pin the image"]);
    assert!(admitted.allowed);
}

#[tokio::test]
async fn an_error_or_a_panic_rejects_the_object() {
    let admitted = create("fail".into()).await;
    assert!(
        !admitted.allowed && admitted.message.contains("invalid digit"),
        "{admitted:?}"
    );
    let admitted = create("panic".into()).await;
    assert!(!admitted.allowed);
    assert_eq!(admitted.message, "panic: told to");
}

#[tokio::test]
async fn updates_and_deletes_are_validated() {
    let api = FakeApi::new();
    let (mut old, new) = (pod(&"a".into()), pod(&"b".into()));
    old["spec"]["priority"] = json!(1);
    let update = review("UPDATE", &new, &old);
    let admitted = api.admit(register, &update).await;
    assert_eq!(admitted.causes[0].0, "spec.priority");

    let delete = review("DELETE", &Value::Null, &old);
    assert!(api.admit(register, &delete).await.allowed);
    old["metadata"]["labels"] = json!({ "keep": "" });
    let delete = review("DELETE", &Value::Null, &old);
    let admitted = api.admit(register, &delete).await;
    assert_eq!(admitted.message, "it is to be kept");
}

#[tokio::test]
async fn a_validator_can_reject_a_user() {
    let mut review = review("CREATE", &pod(&"a".into()), &Value::Null);
    review["request"]["userInfo"]["username"] = json!("nobody");
    let admitted = FakeApi::new().admit(register, &review).await;
    assert_eq!(admitted.message, "nobody may not");
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_rejected_with_the_field() {
    let admitted = create(json!({ "not": "a text" })).await;
    assert!(!admitted.allowed);
    assert!(
        admitted.message.contains("cannot read the object"),
        "{}",
        admitted.message
    );
    assert!(
        admitted.message.contains("spec.containers[0].image: "),
        "it names the field: {}",
        admitted.message
    );
}

/// The error in a Pod whose image is 5.
const UNREADABLE: &str = "spec.containers[0].image: invalid type: integer `5`, expected a string";

#[tokio::test]
async fn a_stored_object_that_cannot_be_read_can_be_repaired() {
    let (api, broken) = (FakeApi::new(), pod(&json!(5)));
    let repair = review("UPDATE", &pod(&"a:1".into()), &broken);
    let admitted = api.admit(register, &repair).await;
    assert!(admitted.allowed, "{admitted:?}");
    assert_eq!(admitted.object["spec"]["priority"], 7, "it is defaulted");
    let warning = format!(
        "the stored object cannot be read, so this one was validated as if it were new: {UNREADABLE}"
    );
    assert_eq!(admitted.warnings, [warning]);

    // Validation is as strict as for any other object.
    let still_wrong = review("UPDATE", &pod(&Value::Null), &broken);
    let admitted = api.admit(register, &still_wrong).await;
    assert!(!admitted.allowed);
    assert_eq!(admitted.causes[0].0, "spec.containers[0].image");
}

#[tokio::test]
async fn a_stored_object_that_cannot_be_read_can_be_deleted() {
    let delete = review("DELETE", &Value::Null, &pod(&json!(5)));
    let admitted = FakeApi::new().admit(register, &delete).await;
    assert!(admitted.allowed, "{admitted:?}");
    let warning = format!(
        "the stored object cannot be read, so its deletion was not validated: {UNREADABLE}"
    );
    assert_eq!(admitted.warnings, [warning]);
}

#[tokio::test]
async fn only_the_metadata_of_an_unreadable_object_can_be_changed() {
    let (api, mut broken) = (FakeApi::new(), pod(&json!(5)));
    let released = broken.clone();
    broken["metadata"]["finalizers"] = json!(["example.com/a"]);
    let release = review("UPDATE", &released, &broken);
    let admitted = api.admit(register, &release).await;
    assert!(admitted.allowed, "{admitted:?}");
    assert_eq!(admitted.object, released);
    let warning = format!("the object cannot be read, so it was not validated: {UNREADABLE}");
    assert!(admitted.warnings.contains(&warning), "{admitted:?}");

    let mut changed = released.clone();
    changed["spec"]["priority"] = json!(1);
    for other in [&changed, &pod(&json!(6))] {
        let admitted = api.admit(register, &review("UPDATE", other, &broken)).await;
        assert!(!admitted.allowed, "{other}");
        let path = "cannot read the object: spec.containers[0].image: invalid type";
        assert!(admitted.message.starts_with(path), "{admitted:?}");
    }
}

/// Keeps the priority that a Pod has.
struct KeepPriority;

impl Defaulter<Pod> for KeepPriority {
    async fn default(&self, pod: &mut Pod, cx: &Request<Pod>) -> Result<(), Rejection> {
        let old = cx.old().and_then(|old| old.spec.as_ref()?.priority);
        pod.spec.get_or_insert_default().priority = old;
        Ok(())
    }
}

#[tokio::test]
async fn a_defaulter_can_read_the_stored_object() {
    let register = |manager: &mut Manager| manager.defaulter::<Pod>(KeepPriority);
    let (new, mut old) = (pod(&"b".into()), pod(&"a".into()));
    old["spec"]["priority"] = json!(3);
    let update = review("UPDATE", &new, &old);
    let admitted = FakeApi::new().admit(register, &update).await;
    assert_eq!(admitted.object["spec"]["priority"], 3);
    let create = review("CREATE", &new, &Value::Null);
    let admitted = FakeApi::new().admit(register, &create).await;
    assert_eq!(admitted.object, new);
}

#[tokio::test]
async fn an_unknown_operation_is_rejected() {
    let review = review("CONNECT", &pod(&"a".into()), &Value::Null);
    let admitted = FakeApi::new().admit(register, &review).await;
    assert!(!admitted.allowed);
    assert_eq!(
        admitted.message,
        "this webhook does not know the operation `CONNECT`"
    );
}

/// The reviews that kube-apiserver 1.36.3 sent when kubectl created, labelled and deleted a `ConfigMap`.
const SENT: &str = include_str!("reviews.jsonl");

#[test]
fn a_review_for_a_unit_test_equals_that_of_an_api_server() {
    for line in SENT.lines() {
        let sent: Value = serde_json::from_str(line).unwrap();
        let object = |field: &str| -> Option<ConfigMap> {
            serde_json::from_value(sent["request"][field].clone()).unwrap()
        };
        let made = kbr_testing::review(object("oldObject").as_ref(), object("object").as_ref());
        let [sent, made] = [&sent, &made].map(without_the_asker);
        assert_eq!(made, sent);
    }
}

/// A review without the parts that depend on the client: the user, the flags of the request, its id.
fn without_the_asker(review: &Value) -> Value {
    let mut review = review.clone();
    let request = review["request"].as_object_mut().unwrap();
    assert!(request.remove("uid").is_some_and(|uid| uid.is_string()));
    let user = request.remove("userInfo").unwrap();
    assert!(user["username"].is_string() && user["groups"].is_array());
    let options = request["options"].as_object_mut().unwrap();
    options.retain(|name, _| ["apiVersion", "kind"].contains(&name.as_str()));
    review
}

/// Allows the names of `ConfigMap`s that are cached.
struct Listed;

impl Validator<Pod> for Listed {
    async fn validate_create(&self, pod: &Pod, cx: &Request<Pod>) -> Result<Warnings, Rejection> {
        let key = manager::Key::new(cx.namespace(), pod.metadata.name.as_deref().unwrap_or("?"));
        if cx.cached().await.get::<ConfigMap>(key)?.is_none() {
            return Err(Rejection::forbidden("not on the list"));
        }
        Ok(Warnings::new())
    }
}

#[tokio::test]
async fn a_validator_reads_the_cache() {
    let register = |manager: &mut Manager| {
        manager.validator::<Pod>(Listed);
        manager.reads(kind::<ConfigMap>());
    };
    let api = FakeApi::new();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("nemo".to_owned());
    api.put(&map);
    for (name, message) in [("nemo", ""), ("ahab", "not on the list")] {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.namespace = Some("default".to_owned());
        let admitted = api
            .admit(register, &kbr_testing::review(None, Some(&pod)))
            .await;
        assert_eq!(admitted.message, message, "{name}");
    }
}
