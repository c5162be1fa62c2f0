//! Test the status of a kind of Kubernetes, which the kubelet writes, too.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::{Pod, PodCondition, PodStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kbr_testing::{Cluster, eventually};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use manager::{Action, Context, Manager};
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);
const GATE: &str = "example.com/registered";
const OTHER: &str = "example.com/other";
const ROUNDS: usize = 5;

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a PodCondition> {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|one| one.type_ == kind)
}

/// Another writer, faster than the operator.
async fn write_other(pods: &Api<Pod>, name: &str, round: usize) -> kube::Result<Pod> {
    let condition = json!({ "type": OTHER, "status": "True", "message": round.to_string() });
    let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
    let params = PatchParams::default();
    pods.patch_status(name, &params, &patch).await
}

/// Opens the readiness gate of a Pod. The other writer writes between the read and the write of each of the first reconciles.
async fn reconcile(cx: Context<Pod>, pods: Api<Pod>) -> anyhow::Result<Action> {
    static ROUND: AtomicUsize = AtomicUsize::new(0);
    let round = (ROUND.load(Relaxed) + 1).min(ROUNDS);
    if ROUND.swap(round, Relaxed) < ROUNDS {
        write_other(&pods, cx.name(), round).await?;
    }
    let new = PodCondition {
        type_: GATE.to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(Time(cx.now())),
        message: Some(round.to_string()),
        ..PodCondition::default()
    };
    cx.update_status(|pod| {
        let status = pod.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        match conditions.iter_mut().find(|one| one.type_ == GATE) {
            Some(old) if old.message == new.message => {}
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    });
    Ok(Action::await_change())
}

/// Three writers share the status of a Pod: the operator, the fake kubelet, and another one.
pub async fn conditions_of_all_writers_are_kept() {
    let cluster = Cluster::connect().await.unwrap();
    let options = crate::options(&cluster);
    let mut manager = Manager::new(options, "test.example.com").await.unwrap();
    let pods = cluster.api::<Pod>();
    let others = pods.clone();
    manager
        .controller::<Pod>("pod")
        .reconcile(move |_, cx| reconcile(cx, others.clone()));
    let operator = tokio::spawn(async move { manager.run_until(std::future::pending()).await });
    let kubelet = cluster.kubelet().unwrap();

    let pod = json!({
        "metadata": { "name": "web" },
        "spec": {
            "nodeName": "somewhere",
            "containers": [{ "name": "web", "image": "web" }],
            "readinessGates": [{ "conditionType": GATE }],
        },
    });
    let pod = serde_json::from_value(pod).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let last = ROUNDS.to_string();
    let settled = async || {
        let status = pods.get_status("web").await?.status.unwrap_or_default();
        let is_true = |kind| condition(&status, kind).is_some_and(|one| one.status == "True");
        let is_last = |kind| {
            condition(&status, kind).is_some_and(|one| one.message.as_deref() == Some(&last))
        };
        let is_running = status.phase.as_deref() == Some("Running");
        let is_kept = is_true("Ready") && is_true("ContainersReady") && is_last(OTHER);
        Ok((is_kept && is_running && is_last(GATE)).then_some(()))
    };
    eventually(SOON, "all conditions", settled).await.unwrap();
    assert!(!operator.is_finished());
    operator.abort();
    drop(kubelet);
    cluster.close().await.unwrap();
}
