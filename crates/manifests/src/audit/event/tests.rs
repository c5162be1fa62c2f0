use super::*;
use serde_json::{Value, json};

const USER: &str = "system:serviceaccount:test-a:crew";

/// A complete request for a `ConfigMap` that was allowed, with these changes.
fn event(changes: &Value) -> Event {
    let mut event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/test-a/configmaps/a?fieldManager=x",
        "verb": "get",
        "user": { "username": "admin", "groups": ["system:masters"] },
        "impersonatedUser": { "username": USER },
        "objectRef": { "resource": "configmaps", "namespace": "test-a", "name": "a", "apiVersion": "v1" },
        "responseStatus": { "metadata": {}, "code": 200 },
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "RBAC: allowed by X",
        },
    });
    for (key, value) in changes.as_object().unwrap() {
        event[key] = value.clone();
    }
    Event::parse(event.to_string().as_bytes()).unwrap()
}

fn annotations(decision: &str) -> Value {
    json!({ "authorization.k8s.io/decision": decision })
}

/// Each decision: `+` or `-`, the arguments of its marker, and the namespace.
fn check(changes: &Value, expected: &[&str]) {
    let shown = |decision: Decision| {
        let sign = match decision.verdict {
            Verdict::Allowed(_) => '+',
            Verdict::Denied(_) => '-',
        };
        let all = [&decision.access].into_iter().collect();
        let arguments = super::super::access::arguments(&all).join("");
        format!("{sign} {arguments} {}", decision.namespace)
    };
    let found: Vec<_> = event(changes).decisions().into_iter().map(shown).collect();
    assert_eq!(found, expected, "{changes}");
}

#[test]
fn the_user_is_the_one_that_acts() {
    assert_eq!(event(&json!({})).account(), Some(("test-a", "crew")));
    let own = json!({ "user": { "username": USER }, "impersonatedUser": null });
    assert_eq!(event(&own).account(), Some(("test-a", "crew")));
    let other =
        json!({ "user": { "username": USER }, "impersonatedUser": { "username": "carol" } });
    assert_eq!(event(&other).account(), None);
    assert_eq!(event(&json!({ "impersonatedUser": null })).account(), None);
}

#[test]
fn a_request_needs_its_own_permission() {
    let get = "+ groups=core,resources=configmaps,resourceNames=a,verbs=get test-a";
    check(&json!({}), &[get]);
    check(&json!({ "stage": "Panic" }), &[get]);
    let missing = json!({ "responseStatus": { "code": 404 } });
    check(&missing, &[get]);
    let status = json!({
        "resource": "captains", "subresource": "status", "apiGroup": "a.b", "name": "x",
    });
    let change = json!({ "verb": "patch", "objectRef": status });
    let patch = "+ groups=a.b,resources=captains/status,resourceNames=x,verbs=patch ";
    check(&change, &[patch]);
    let url = json!({ "objectRef": null, "requestURI": "/metrics?a=b" });
    check(&url, &["+ urls=/metrics,verbs=get "]);
}

#[test]
fn a_watch_counts_from_its_start() {
    let watch = |stage: &str| {
        let object = json!({ "resource": "pods", "apiVersion": "v1" });
        json!({ "verb": "watch", "stage": stage, "objectRef": object })
    };
    let expected = ["+ groups=core,resources=pods,verbs=watch "];
    check(&watch("ResponseStarted"), &expected);
    check(&watch("ResponseComplete"), &expected);
    check(&watch("RequestReceived"), &[]);
}

#[test]
fn a_denied_watch_counts_once() {
    let denied = |stage: &str| {
        let status = json!({ "code": 403 });
        json!({ "verb": "watch", "stage": stage, "responseStatus": status, "annotations": annotations("forbid") })
    };
    check(&denied("ResponseStarted"), &[]);
    let watch = "- groups=core,resources=configmaps,resourceNames=a,verbs=watch test-a";
    check(&denied("ResponseComplete"), &[watch]);
}

#[test]
fn the_name_of_a_new_object_is_not_part_of_the_permission() {
    let create = "+ groups=core,resources=configmaps,verbs=create test-a";
    check(&json!({ "verb": "create" }), &[create]);
    let eviction = json!({ "resource": "pods", "subresource": "eviction", "name": "a" });
    let evict = "+ groups=core,resources=pods/eviction,resourceNames=a,verbs=create ";
    check(
        &json!({ "verb": "create", "objectRef": eviction }),
        &[evict],
    );
}

#[test]
fn a_write_that_creates_needs_both_permissions() {
    for verb in ["patch", "update"] {
        let create = "+ groups=core,resources=configmaps,resourceNames=a,verbs=create test-a";
        let write =
            &format!("+ groups=core,resources=configmaps,resourceNames=a,verbs={verb} test-a");
        let created = json!({ "verb": verb, "responseStatus": { "code": 201 } });
        check(&created, &[create, write]);
        check(&json!({ "verb": verb }), &[write]);
    }
    let exec = json!({ "resource": "pods", "subresource": "exec", "name": "a" });
    let [create, get] = ["create", "get"]
        .map(|verb| format!("+ groups=core,resources=pods/exec,resourceNames=a,verbs={verb} "));
    let stream = json!({ "objectRef": exec, "responseStatus": { "code": 101 } });
    check(&stream, &[&create, &get]);
}

#[test]
fn a_watch_that_begins_with_a_list_needs_both_permissions() {
    let [list, watch] = ["list", "watch"]
        .map(|verb| format!("+ groups=core,resources=configmaps,verbs={verb} test-a"));
    let maps = json!({ "resource": "configmaps", "namespace": "test-a" });
    let watched = |query: &str| json!({ "verb": "watch", "objectRef": maps, "requestURI": format!("/api/v1/configmaps?{query}") });
    check(&watched("watch=true"), &[&watch]);
    check(
        &watched("watch=true&sendInitialEvents=true"),
        &[&list, &watch],
    );
}

/// A patch that was allowed, but failed with this message.
fn rejected(message: &str) -> Value {
    let status = json!({ "code": 403, "reason": "Forbidden", "message": message });
    json!({ "verb": "patch", "responseStatus": status })
}

#[test]
fn permissions_that_are_denied_within_a_request_are_found() {
    let patch = "+ groups=core,resources=configmaps,resourceNames=a,verbs=patch test-a";
    let create = format!(
        "configmaps \"a\" is forbidden: User \"{USER}\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"test-a\""
    );
    let denied = "- groups=core,resources=configmaps,verbs=create test-a";
    check(&rejected(&create), &[patch, denied]);
    let own = "configmaps \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>";
    let denied = "- groups=core,resources=configmaps,resourceNames=a,verbs=delete test-a";
    check(&rejected(own), &[patch, denied]);
    let block = "configmaps \"a\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
    let denied = "- groups=<the owner's group>,resources=<the owner's resource>/finalizers,verbs=update test-a";
    check(&rejected(block), &[patch, denied]);
}

#[test]
fn a_rejection_by_admission_is_not_about_permissions() {
    let patch = "+ groups=core,resources=configmaps,resourceNames=a,verbs=patch test-a";
    let webhook = "admission webhook \"x\" denied the request: not on Sundays";
    check(&rejected(webhook), &[patch]);
    let of_another = "User \"carol\" cannot create resource \"a\" in API group \"b\"";
    check(&rejected(of_another), &[patch]);
}

#[test]
fn what_never_came_to_authorization_needed_nothing() {
    let throttled = json!({ "responseStatus": { "code": 429 }, "annotations": {} });
    check(&throttled, &[]);
}
