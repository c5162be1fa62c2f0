//! What a cluster does beside the operator: it delivers changes, collects garbage, and runs what is to run.

use std::time::Duration;

use hyper::Method;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::{network::Network, state::State, who::Who};
use crate::{
    FakeApi,
    jobs::JobEnds,
    kubelet,
    server::{Call, Path},
};

/// How long the garbage collector takes to notice that an owner is gone.
const COLLECTS: Duration = Duration::from_secs(2);

/// How long the fake kubelet takes for each step.
const PLAYS: Duration = Duration::from_secs(1);

/// Delivers changes to watches.
pub(super) async fn deliver(api: FakeApi, network: Network) {
    let mut changes = api.changes();
    loop {
        network.deliver();
        // The server still exists.
        let _ = changes.changed().await;
    }
}

/// Deletes what has lost its owners.
pub(super) async fn collect(api: FakeApi, network: Network) {
    loop {
        network.stored(0).await;
        sleep(COLLECTS).await;
        network.stored_by_the_last();
        api.change(crate::server::Objects::collect_garbage);
        network.stored_by(Who::GarbageCollector);
    }
}

/// Makes Deployments and `StatefulSet`s available, Pods run, and Jobs and Pods end that are not restarted.
pub(super) async fn play(api: FakeApi, network: Network, jobs: JobEnds) {
    loop {
        network.stored(1).await;
        sleep(PLAYS).await;
        network.stored_by_the_last();
        for plural in ["deployments", "statefulsets", "pods", "jobs"] {
            for object in api.all_json(plural) {
                act(&api, plural, &object, &jobs);
                network.stored_by(Who::Kubelet);
            }
        }
    }
}

fn act(api: &FakeApi, plural: &str, object: &Value, jobs: &JobEnds) {
    let typed = || serde_json::from_value(object.clone()).ok();
    let status = match plural {
        "deployments" => kubelet::available(object),
        "statefulsets" => replicas(object),
        // Its containers are stopped.
        "pods" if object["metadata"]["deletionTimestamp"].is_string() => None,
        "pods" => serde_json::from_value(object.clone())
            .ok()
            .and_then(|pod| kubelet::running(&pod))
            .or_else(|| ended(object)),
        _ => typed().and_then(|job| jobs.next(&job)),
    };
    let Some(status) = status else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let root = if version.contains('/') { "apis" } else { "api" };
    let meta = &object["metadata"];
    let path = format!(
        "/{root}/{version}/namespaces/{}/{plural}/{}/status",
        text(&meta["namespace"]),
        text(&meta["name"]),
    );
    let Some(path) = Path::parse(&path) else {
        return;
    };
    let call = Call {
        method: Method::PATCH,
        path,
        query: std::iter::once(("fieldManager".to_owned(), "kubelet".to_owned())).collect(),
        media_type: "application/merge-patch+json".to_owned(),
        accept: String::new(),
        agent: String::new(),
        body: json!({ "status": status }),
    };
    drop(api.answer(&call));
}

/// Why an object may wait at rest without a fake kubelet: no one writes the status of what is to run.
pub(super) fn unplayed(state: &State) -> Option<String> {
    let waits = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it["type"] == "Ready" && it["status"] != "True")
    };
    let is_idle = |object: &Value| {
        let kind = object["kind"].as_str().unwrap_or_default();
        let is_empty = object["status"].as_object().is_none_or(Map::is_empty);
        is_empty && ["Deployment", "StatefulSet", "Pod", "Job"].contains(&kind)
    };
    let (waiting, _) = state.iter().find(|(_, object)| waits(object))?;
    let (idle, _) = state.iter().find(|(_, object)| is_idle(object))?;
    Some(format!(
        "`{waiting}` is not ready, and nothing runs `{idle}`: `.kubelet()` runs a fake kubelet"
    ))
}

/// The status of a Pod that runs and is not restarted: its commands end.
fn ended(pod: &Value) -> Option<Value> {
    let policy = pod["spec"]["restartPolicy"].as_str();
    let ends = matches!(policy, Some("Never" | "OnFailure"));
    let runs = pod["status"]["phase"] == "Running";
    (ends && runs).then(|| json!({ "phase": "Succeeded" }))
}

/// The status to write to a `StatefulSet`; `None` if it is up to date.
fn replicas(object: &Value) -> Option<Value> {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let (status, generation) = (&object["status"], &object["metadata"]["generation"]);
    if status["readyReplicas"].as_i64().unwrap_or_default() == wanted
        && status["observedGeneration"] == *generation
    {
        return None;
    }
    Some(json!({
        "observedGeneration": generation,
        "replicas": wanted,
        "readyReplicas": wanted,
        "currentReplicas": wanted,
        "updatedReplicas": wanted,
        "availableReplicas": wanted,
    }))
}
