use std::time::Duration;

use serde_json::json;

use super::*;

fn with(conditions: &Value) -> (String, String) {
    let object =
        Object::of(&json!({ "metadata": { "name": "a" }, "status": { "conditions": conditions } }));
    (object.status.to_owned(), object.reason)
}

fn pair(ready: &str, reason: &str) -> (String, String) {
    (ready.to_owned(), reason.to_owned())
}

#[test]
fn readiness_is_the_condition_that_the_kind_has() {
    let progressing = json!({ "type": "Progressing", "status": "True" });
    let available =
        json!({ "type": "Available", "status": "False", "reason": "Few", "message": "1 of 3" });
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Reconciled", "message": "all is well" });
    let failed = json!({ "type": "Failed", "status": "True", "reason": "Backoff" });
    assert_eq!(
        with(&json!([progressing, available])),
        pair("False", "Few: 1 of 3")
    );
    assert_eq!(with(&json!([available, ready])), pair("True", "Reconciled"));
    assert_eq!(with(&json!([failed])), pair("False", "Backoff"));
    assert_eq!(with(&json!([progressing])), pair("", ""));
    assert_eq!(with(&json!("no list")), pair("", ""));
}

#[test]
fn a_condition_of_the_operator_that_is_not_true_comes_before_a_summary_that_is() {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "R", "message": "m" });
    let shown = |version: &str, conditions: &[Value]| {
        let object = Object::of(
            &json!({ "apiVersion": version, "metadata": { "name": "a" }, "status": { "conditions": conditions } }),
        );
        (object.ready, object.status.to_owned(), object.reason)
    };
    let of =
        |ready: bool, status: &str, reason: &str| (ready, status.to_owned(), reason.to_owned());
    let (own, ready) = ("crew.example.com/v1", condition("Ready", "True"));
    for (others, expected) in [
        (
            vec![condition("WithinQuota", "False")],
            of(true, "False", "WithinQuota: R: m"),
        ),
        (
            vec![condition("Crewed", "Unknown")],
            of(true, "Unknown", "Crewed: R: m"),
        ),
        (
            vec![condition("Stalled", "True")],
            of(true, "False", "Stalled: R: m"),
        ),
        (
            vec![
                condition("Stalled", "False"),
                condition("Progressing", "False"),
            ],
            of(true, "True", "R"),
        ),
    ] {
        let conditions: Vec<_> = std::iter::once(ready.clone()).chain(others).collect();
        assert_eq!(shown(own, &conditions), expected);
        // What the conditions of Kubernetes' own kinds mean is known.
        assert_eq!(shown("apps/v1", &conditions), of(true, "True", "R"));
    }
    // The summary says more than its parts.
    let both = [condition("Ordered", "False"), condition("Ready", "False")];
    assert_eq!(shown(own, &both), of(false, "False", "R: m"));
}

#[test]
fn an_object_that_is_being_deleted_names_its_finalizers() {
    let metadata = json!({ "name": "a", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["x/y"], "creationTimestamp": "1970-01-01T00:01:00Z" });
    let object = Object::of(&json!({ "metadata": metadata }));
    let created = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
    assert_eq!(
        object,
        Object {
            name: "n/a".to_owned(),
            ready: false,
            status: "Unknown",
            reason: "is being deleted; finalizers: x/y".to_owned(),
            created: Some(created),
        }
    );
}

#[test]
fn an_event_has_the_time_of_its_last_repetition() {
    let event = |times: Value| {
        let mut event = json!({ "type": "Warning", "reason": "R", "note": "N",
            "regarding": { "kind": "Captain", "namespace": "n", "name": "a" } });
        for (name, time) in times.as_object().unwrap() {
            event[name] = time.clone();
        }
        Event::of(&event)
    };
    let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    let once = event(json!({ "eventTime": "1970-01-01T00:00:01.000000Z" }));
    assert_eq!(
        (once.time, once.about.as_str(), once.warning),
        (at(1), "Captain n/a", true)
    );
    let series = json!({ "lastObservedTime": "1970-01-01T00:00:03.000000Z" });
    let repeated = json!({ "eventTime": "1970-01-01T00:00:01.000000Z", "series": series });
    assert_eq!(event(repeated).time, at(3));
    let old = json!({ "eventTime": null, "deprecatedLastTimestamp": "1970-01-01T00:00:02Z" });
    assert_eq!(event(old).time, at(2));
}

#[test]
fn only_an_owner_that_is_the_controller_counts() {
    let owner = |controller| json!({ "apiVersion": "crew.example.com/v1", "kind": "Captain", "controller": controller });
    let object = |owners: Value| controller(&json!({ "metadata": { "ownerReferences": owners } }));
    let found = Some(("Captain".to_owned(), "crew.example.com".to_owned()));
    assert_eq!(object(json!([owner(false), owner(true)])), found);
    assert_eq!(object(json!([owner(false)])), None);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "controller": true });
    assert_eq!(
        object(json!([pod])),
        Some(("Pod".to_owned(), String::new()))
    );
    assert_eq!(object(Value::Null), None);
}

#[test]
fn readiness_without_a_condition_is_the_number_of_pods() {
    let ready = |object: Value| {
        let object = Object::of(&object);
        (object.status.to_owned(), object.reason)
    };
    let set = |status: Value| {
        ready(json!({ "apiVersion": "apps/v1", "spec": { "replicas": 2 }, "status": status }))
    };
    assert_eq!(set(json!({ "readyReplicas": 2 })), pair("True", ""));
    assert_eq!(set(json!({})), pair("False", "0 of 2 Pods are ready"));
    let status = json!({ "numberReady": 1, "desiredNumberScheduled": 3 });
    let daemons = json!({ "apiVersion": "apps/v1", "status": status });
    assert_eq!(ready(daemons), pair("False", "1 of 3 Pods are ready"));
    // A kind of the project may mean something else by them.
    let own =
        json!({ "apiVersion": "crew.example.com/v1", "spec": { "replicas": 2 }, "status": {} });
    assert_eq!(ready(own), pair("", ""));
}
