//! Two states, and what has changed between them.

use serde_json::json;

use super::*;
use crate::state::strip;

fn state(objects: &[Value]) -> State {
    let entry = |object: &Value| {
        let id = Id {
            group: String::new(),
            kind: text(&object["kind"]).to_owned(),
            namespace: "navy".to_owned(),
            name: text(&object["metadata"]["name"]).to_owned(),
        };
        let mut object = object.clone();
        let managed = strip(&mut object).unwrap_or_default();
        let seen = Seen {
            object: object.to_string().into(),
            managed: managed.to_string().into(),
        };
        (id, seen)
    };
    objects.iter().map(entry).collect()
}

fn object(kind: &str, name: &str, uid: &str, rest: &Value) -> Value {
    let mut object = json!({ "kind": kind, "metadata": { "name": name, "uid": uid } });
    for (field, value) in rest.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

fn compared(before: &[Value], after: &[Value]) -> Changes {
    compare(&state(before), &state(after), &BTreeSet::new())
}

fn actions(changes: &Changes) -> Vec<(Action, &str)> {
    let objects = changes.objects.iter();
    objects.map(|it| (it.action, it.id.name.as_str())).collect()
}

#[test]
fn what_is_deleted_takes_along_what_it_owns() {
    let none = json!({});
    let mut pod = object("Pod", "b", "2", &none);
    pod["metadata"]["ownerReferences"] = json!([{ "uid": "1", "kind": "Job", "name": "a" }]);
    let mut of_pod = object("Secret", "c", "3", &none);
    of_pod["metadata"]["ownerReferences"] = json!([{ "uid": "2" }]);
    let mut shared = object("Secret", "d", "4", &none);
    shared["metadata"]["ownerReferences"] = json!([{ "uid": "2" }, { "uid": "other" }]);
    let before = [object("Job", "a", "1", &none), pod, of_pod, shared];
    let changes = compared(&before, &[]);
    let expected = [(Action::Deleted, "a"), (Action::Deleted, "d")];
    assert_eq!(actions(&changes), expected);
    assert_eq!(
        changes.objects[0].dependents,
        ["Pod navy/b", "Secret navy/c"]
    );
}

#[test]
fn an_object_with_another_uid_is_recreated() {
    let job = |uid: &str| [object("Job", "a", uid, &json!({ "spec": {} }))];
    assert_eq!(
        actions(&compared(&job("1"), &job("2"))),
        [(Action::Recreated, "a")]
    );
    assert_eq!(actions(&compared(&job("1"), &job("1"))), []);
    assert_eq!(actions(&compared(&[], &job("1"))), [(Action::Created, "a")]);
}

#[test]
fn an_object_that_only_waits_for_the_garbage_collector_is_deleted() {
    let before = [object("Job", "a", "1", &json!({}))];
    let mut after = before.clone();
    after[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    after[0]["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    assert_eq!(
        actions(&compared(&before, &after)),
        [(Action::Deleted, "a")]
    );
    after[0]["metadata"]["finalizers"] = json!(["crew.example.com/x"]);
    assert_eq!(
        actions(&compared(&before, &after)),
        [(Action::Changed, "a")]
    );
}

#[test]
fn pods_restart_only_if_their_template_differs() {
    let deployment = |image: &str, replicas: u64| {
        let template = json!({ "spec": { "containers": [{ "name": "helm", "image": image }] } });
        [object(
            "Deployment",
            "a",
            "1",
            &json!({ "spec": { "replicas": replicas, "template": template } }),
        )]
    };
    let restarts = |after: &[Value]| compared(&deployment("1", 3), after).objects[0].restarts;
    assert_eq!(restarts(&deployment("2", 3)), Some(3));
    assert_eq!(restarts(&deployment("1", 2)), None);
    // None runs.
    assert_eq!(restarts(&deployment("2", 0)), None);
}

#[test]
fn pods_of_a_set_that_updates_on_deletion_do_not_restart_by_themselves() {
    let set = |image: &str| {
        let spec = json!({
            "replicas": 3, "updateStrategy": { "type": "OnDelete" },
            "template": { "spec": { "containers": [{ "name": "helm", "image": image }] } },
        });
        [object("StatefulSet", "a", "1", &json!({ "spec": spec }))]
    };
    let change = compared(&set("1"), &set("2")).objects.remove(0);
    assert_eq!((change.restarts, change.on_delete), (None, true));
}

#[test]
fn a_status_in_which_nothing_but_times_differs_counts_as_no_change() {
    let captain = |at: &str, phase: &str| {
        let condition = json!({ "type": "Ready", "lastHeartbeatTime": at });
        let status = json!({ "phase": phase, "conditions": [condition], "synced": [at] });
        [object("Captain", "a", "1", &json!({ "status": status }))]
    };
    let before = captain("2026-01-01T00:00:00Z", "sails");
    let changes = compared(&before, &captain("2026-01-02T03:04:05.678+01:00", "sails"));
    assert_eq!((changes.status, changes.times), (vec![], 1));
    let changes = compared(&before, &captain("2026-01-02T00:00:00Z", "sinks"));
    assert_eq!((changes.status.len(), changes.times), (1, 0));
    let changes = compared(&before, &captain("later", "sails"));
    assert_eq!((changes.status.len(), changes.times), (1, 0));
}

#[test]
fn a_change_names_who_has_made_it_and_whose_value_it_replaces() {
    let set = |manager: &str, replicas: u8| {
        let mut set = object(
            "StatefulSet",
            "a",
            "1",
            &json!({ "spec": { "replicas": replicas } }),
        );
        let fields = json!({ "f:spec": { "f:replicas": {} } });
        set["metadata"]["managedFields"] = json!([{ "manager": manager, "fieldsV1": fields }]);
        [set]
    };
    let change = |before: &str| {
        let mut changes = compared(&set(before, 5), &set("crew/captain", 2));
        let change = changes.objects.remove(0);
        (change.managers, change.fields[0].taken_from.clone())
    };
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(
        change("kubectl-edit"),
        (names(&["crew/captain"]), names(&["kubectl-edit"]))
    );
    assert_eq!(
        change("crew/captain"),
        (names(&["crew/captain"]), names(&[]))
    );
    let created = compared(&[], &set("crew/captain", 2)).objects.remove(0);
    assert_eq!(created.managers, names(&["crew/captain"]));
    assert_eq!(created.fields[0].path, "spec.replicas");
}

#[test]
fn elements_of_lists_are_named_and_the_status_is_counted_apart() {
    let old = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] }, "spec": { "ports": [{ "name": "a", "port": 1 }] } });
    let new = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] }, "spec": { "ports": [{ "name": "b", "port": 2 }, { "name": "a", "port": 3 }] } });
    let changes = compared(
        &[object("Service", "a", "1", &old)],
        &[object("Service", "a", "1", &new)],
    );
    let paths: Vec<&str> = changes.objects[0]
        .fields
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(paths, ["spec.ports[a].port", "spec.ports[b]"]);
    let status = &changes.status[0];
    assert_eq!(
        (status.objects, status.fields.contains("conditions[Ready]")),
        (1, true)
    );
}
