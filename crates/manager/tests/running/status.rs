//! Test the status of kinds of Kubernetes.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::{Pod, PodCondition, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kbr_testing::FakeApi;
use kube::ResourceExt as _;
use manager::{Action, Context, Manager, ext::http};
use serde_json::{Value, json};

fn condition(kind: &str, status: &str) -> PodCondition {
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        ..PodCondition::default()
    }
}

fn set(conditions: &mut Vec<PodCondition>, new: PodCondition) {
    match conditions.iter_mut().find(|old| old.type_ == new.type_) {
        Some(old) if old.status == new.status => {}
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

async fn open_gate(_: Arc<Pod>, cx: Context<Pod>) -> anyhow::Result<Action> {
    let new = PodCondition {
        last_transition_time: Some(Time(cx.now())),
        ..condition("example.com/gate", "True")
    };
    cx.update_status(|pod| {
        let status = pod.status.get_or_insert_default();
        set(status.conditions.get_or_insert_default(), new);
    });
    Ok(Action::await_change())
}

/// A Pod with the status that a kubelet has written.
fn api() -> FakeApi {
    let api = FakeApi::new();
    let mut pod = Pod::default();
    pod.metadata.name = Some("web".to_owned());
    pod.status = Some(PodStatus {
        phase: Some("Running".to_owned()),
        conditions: Some(vec![condition("Ready", "False")]),
        ..PodStatus::default()
    });
    api.put(&pod);
    api
}

fn writes(api: &FakeApi) -> usize {
    let requests = api.requests();
    let writes = requests
        .iter()
        .filter(|request| request.starts_with("PATCH"));
    writes.count()
}

#[tokio::test]
async fn a_condition_of_a_pod_is_set_once_beside_those_of_the_kubelet() {
    let api = api();
    let register = |manager: &mut Manager| {
        manager.controller::<Pod>("pod").reconcile(open_gate);
    };
    for _ in 0..2 {
        api.reconcile(register, "web").await.unwrap();
        assert_eq!(writes(&api), 1);
    }
    let status = api.get::<Pod>("default", "web").unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let conditions = status.conditions.unwrap_or_default();
    let shown: Vec<_> = conditions
        .iter()
        .map(|condition| (&*condition.type_, &*condition.status))
        .collect();
    assert_eq!(shown, [("Ready", "False"), ("example.com/gate", "True")]);
}

#[tokio::test]
async fn a_reconcile_that_changes_more_than_the_status_fails_and_writes_nothing() {
    let api = api();
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Pod>("pod");
        controller.reconcile(async |_, cx: Context<Pod>| {
            cx.update_status(|pod| pod.labels_mut().insert("a".to_owned(), "b".to_owned()));
            Ok(Action::await_change())
        });
    };
    let error = api.reconcile(register, "web").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`cx.update_status` has changed more of the object than its status; nothing was written\n\
         help: change the rest with `cx.update`"
    );
    assert_eq!(writes(&api), 0);
}

#[tokio::test]
async fn fields_of_a_condition_that_the_type_does_not_know_are_kept() {
    let api = api();
    let pod = "/api/v1/namespaces/default/pods/web";
    let newer =
        json!({"status": {"conditions": [{"type": "Ready", "status": "False", "since": 7}]}});
    let patch = http::Request::patch(format!("{pod}/status"))
        .header("content-type", "application/merge-patch+json")
        .body(newer.to_string().into_bytes())
        .unwrap();
    api.client().request::<Value>(patch).await.unwrap();
    let register = |manager: &mut Manager| {
        manager.controller::<Pod>("pod").reconcile(open_gate);
    };
    api.reconcile(register, "web").await.unwrap();
    let get = http::Request::get(pod).body(Vec::new()).unwrap();
    let stored: Value = api.client().request(get).await.unwrap();
    let conditions = &stored["status"]["conditions"];
    assert_eq!(conditions[0], newer["status"]["conditions"][0]);
    assert_eq!(conditions[1]["type"], "example.com/gate");
}

#[tokio::test]
async fn a_status_method_inside_of_another_is_a_mistake() {
    let api = api();
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Pod>("pod");
        controller.reconcile(async |_, cx: Context<Pod>| {
            let phase = |phase: &str| {
                let phase = Some(phase.to_owned());
                move |pod: &mut Pod| pod.status.get_or_insert_default().phase = phase
            };
            cx.update_status(|pod| {
                phase("Succeeded")(pod);
                cx.update_status(phase("Failed"));
            });
            Ok(Action::await_change())
        });
    };
    let error = api.reconcile(register, "web").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a function of `cx.status` or `cx.update_status` sets the status by another method of `cx`\n\
         help: call that method afterwards"
    );
}
