//! A fake kubelet: makes Deployments available, Pods run and Jobs end. An API server alone does none of that.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::Job,
        core::v1::{Pod, PodCondition},
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::{runtime::Builder, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    Cluster,
    jobs::{JobEnd, JobEnds},
};

/// The polling interval.
const PERIOD: Duration = Duration::from_millis(50);

/// Makes Deployments available, Pods run and Jobs end, until it is dropped; see [`Cluster::kubelet`].
#[derive(Debug)]
#[must_use = "it ends when this is dropped"]
pub struct Kubelet {
    jobs: JobEnds,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.cancel();
        // The thread returns nothing.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Kubelet {
    /// From now on, ends Jobs as `decide` decides. A Job for which it returns `None` keeps running, like all Jobs
    /// before this call.
    ///
    /// `decide` is called with each running Job, again and again until the Job has ended.
    ///
    /// ```no_run
    /// # use kbr_testing::{Cluster, JobEnd};
    /// # async fn test() -> anyhow::Result<()> {
    /// # let cluster = Cluster::connect().await?;
    /// let kubelet = cluster.kubelet()?;
    /// kubelet.finish_jobs(|job| match job.metadata.name.as_deref() {
    ///     Some("broken") => Some(JobEnd::Failed),
    ///     _ => Some(JobEnd::Succeeded),
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn finish_jobs(&self, decide: impl Fn(&Job) -> Option<JobEnd> + Send + Sync + 'static) {
        self.jobs.set(decide);
    }
}

impl Cluster {
    /// Writes the status of the Deployments, Pods and Jobs of this test as a healthy cluster eventually does, until the
    /// returned value is dropped. A Deployment has all its replicas, and these are available. A Pod runs and is ready.
    /// A Job runs until [`Kubelet::finish_jobs`] ends it.
    ///
    /// It creates no Pods for a Deployment or a Job, runs nothing, and ignores Pods that have failed or succeeded. A
    /// deleted Pod is removed at once, whatever its grace period. A test that needs another status writes it without a
    /// fake kubelet.
    ///
    /// # Errors
    /// If it cannot start a thread.
    pub fn kubelet(&self) -> anyhow::Result<Kubelet> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (config, namespace) = (self.config.clone(), self.namespace().to_owned());
        let (stop, jobs) = (CancellationToken::new(), JobEnds::default());
        let (stopped, ends) = (stop.clone(), jobs.clone());
        // It needs its own thread and client, because `kubectl wait` blocks the thread of the test.
        let thread = thread::Builder::new().name("kubelet".to_owned());
        let thread = thread.spawn(move || {
            let play = stopped.run_until_cancelled(play(config, &namespace, &ends));
            if let Some(Err(error)) = runtime.block_on(play) {
                tracing::error!(%error, "there is no kubelet");
            }
        })?;
        Ok(Kubelet {
            jobs,
            stop,
            thread: Some(thread),
        })
    }
}

/// Updates the objects in this namespace until it is stopped; fails only at start.
async fn play(config: Config, namespace: &str, ends: &JobEnds) -> kube::Result<()> {
    let client = Client::try_from(config)?;
    let deployments = Api::namespaced(client.clone(), namespace);
    let pods = Api::namespaced(client.clone(), namespace);
    let jobs = Api::namespaced(client, namespace);
    loop {
        // Failures, for example for an object that is gone, are retried in the next round. A test waits for the status
        // that it needs, and fails if that does not arrive.
        let _ = tokio::join!(deploy(&deployments), run(&pods), work(&jobs, ends));
        sleep(PERIOD).await;
    }
}

/// Makes Deployments available, like the Deployment controller and the controllers below it.
async fn deploy(api: &Api<Deployment>) -> kube::Result<()> {
    for deployment in api.list(&ListParams::default()).await? {
        let Some(name) = &deployment.metadata.name else {
            continue;
        };
        if let Some(status) = available(&json!(deployment)) {
            patch(api, name, &status).await?;
        }
    }
    Ok(())
}

/// The status to write to a Deployment; `None` if it is up to date.
///
/// The Deployment is JSON, because its type has optional fields that are required in other versions of Kubernetes, and the operator
/// selects the version.
pub(super) fn available(deployment: &Value) -> Option<Value> {
    let generation = &deployment["metadata"]["generation"];
    let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    let status = &deployment["status"];
    let counts = [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ];
    // The API server omits zeros.
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let counted = counts.into_iter().all(|name| count(name) == wanted);
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let is_available = conditions.any(|one| one["type"] == "Available" && one["status"] == "True");
    if counted && is_available && status["observedGeneration"] == *generation {
        return None;
    }
    let now = Time(Timestamp::now());
    Some(json!({
        "observedGeneration": generation,
        "replicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": wanted,
        "availableReplicas": wanted,
        "unavailableReplicas": null,
        "conditions": [{
            "type": "Available",
            "status": "True",
            "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.",
            "lastTransitionTime": now,
            "lastUpdateTime": now,
        }],
    }))
}

/// Makes Pods run and become ready, and removes deleted ones, like a kubelet.
async fn run(api: &Api<Pod>) -> kube::Result<()> {
    for pod in api.list(&ListParams::default()).await? {
        let Some(name) = &pod.metadata.name else {
            continue;
        };
        if pod.metadata.deletion_timestamp.is_some() {
            api.delete(name, &DeleteParams::default().grace_period(0))
                .await?;
        } else if let Some(status) = running(&pod) {
            patch(api, name, &status).await?;
        }
    }
    Ok(())
}

/// Starts and ends Jobs.
async fn work(api: &Api<Job>, ends: &JobEnds) -> kube::Result<()> {
    for job in api.list(&ListParams::default()).await? {
        if let (Some(name), Some(status)) = (&job.metadata.name, ends.next(&job)) {
            let patch = Patch::Merge(json!({ "status": status }));
            api.patch_status(name, &PatchParams::default(), &patch)
                .await?;
        }
    }
    Ok(())
}

/// The status to write to a Pod; `None` if it is up to date, or the Pod has ended.
pub(super) fn running(pod: &Pod) -> Option<Value> {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let is_ready = |one: &PodCondition| one.type_ == "Ready" && one.status == "True";
    match phase {
        Some("Succeeded" | "Failed") => return None,
        Some("Running") if conditions.into_iter().flatten().any(is_ready) => return None,
        _ => {}
    }
    let now = Time(Timestamp::now());
    let kinds = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
    let condition = |kind| json!({ "type": kind, "status": "True", "lastTransitionTime": now });
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers = containers.map(|container| {
        let image = container.image.as_deref().unwrap_or_default();
        json!({
            "name": container.name,
            "image": image,
            "imageID": image,
            "ready": true,
            "started": true,
            "restartCount": 0,
            "state": { "running": { "startedAt": now } },
        })
    });
    Some(json!({
        "phase": "Running",
        "startTime": now,
        "conditions": kinds.map(condition),
        "containerStatuses": containers.collect::<Vec<_>>(),
    }))
}

/// Writes a status; keeps conditions of other types.
async fn patch<K>(api: &Api<K>, name: &str, status: &Value) -> kube::Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let patch = Patch::Strategic(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}
