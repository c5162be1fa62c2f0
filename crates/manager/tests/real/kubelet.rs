//! Test the fake kubelet, with an operator that needs one.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{Job, JobStatus},
    core::v1::{ConfigMap, Pod},
};
use kbr_testing::{Cluster, JobEnd, eventually};
use kube::api::{Patch, PatchParams, PostParams};
use manager::{Action, Context, Manager, kind};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn deployment(owner: &ConfigMap) -> Deployment {
    let labels = json!({ "app": "web" });
    let replicas = owner.data.as_ref().unwrap()["replicas"].parse::<i32>();
    object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas.unwrap(),
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "web", "image": "web" }] },
            },
        },
    }))
}

/// Applies a Deployment, and writes its number of available replicas into an annotation.
async fn reconcile(map: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
    let web = cx.apply(&deployment(&map)).await?;
    let status = web.status.clone().unwrap_or_default();
    let current = status.observed_generation == web.metadata.generation;
    let mut conditions = status.conditions.into_iter().flatten();
    let available = conditions.any(|one| {
        one.type_.as_deref() == Some("Available") && one.status.as_deref() == Some("True")
    });
    let count = status.available_replicas.unwrap_or_default();
    if current && available {
        let tell = |map: &mut ConfigMap| {
            let annotations = map.metadata.annotations.get_or_insert_default();
            annotations.insert("available".to_owned(), count.to_string());
        };
        cx.update(&*map, tell).await?;
    }
    Ok(Action::await_change())
}

/// Waits until the operator reports this number. `kubectl` blocks the thread, as it does in tests.
fn wait_for_available(cluster: &Cluster, count: &str) {
    let wanted = format!("--for=jsonpath={{.metadata.annotations.available}}={count}");
    let wait = ["wait", &wanted, "--timeout=60s", "configmap/web"];
    cluster.kubectl(&wait).unwrap();
}

pub async fn deployments_become_available() {
    let cluster = Cluster::connect().await.unwrap();
    let options = crate::options(&cluster);
    // The operator gets its own threads, because outside this test it is a process.
    let operator = tokio::runtime::Runtime::new().unwrap();
    operator.spawn(async move {
        let mut manager = Manager::new(options, "test.example.com").await.unwrap();
        manager
            .controller::<ConfigMap>("web")
            .owns(kind::<Deployment>())
            .reconcile(reconcile);
        manager.run_until(std::future::pending()).await.unwrap();
    });
    let kubelet = cluster.kubelet().unwrap();

    let maps = cluster.api::<ConfigMap>();
    let map = json!({ "metadata": { "name": "web" }, "data": { "replicas": "3" } });
    let made = maps.create(&PostParams::default(), &object(map)).await;
    made.unwrap();
    wait_for_available(&cluster, "3");
    for count in ["5", "0"] {
        let patch = Patch::Merge(json!({ "data": { "replicas": count } }));
        let patched = maps.patch("web", &PatchParams::default(), &patch).await;
        patched.unwrap();
        wait_for_available(&cluster, count);
    }

    // A Deployment with an up-to-date status is left alone.
    let deployments = cluster.api::<Deployment>();
    let settled = deployments.get("web").await.unwrap();
    run_a_pod(&cluster, "first").await;
    let later = deployments.get("web").await.unwrap();
    assert_eq!(
        later.metadata.resource_version,
        settled.metadata.resource_version
    );

    drop(kubelet);
    let patch = Patch::Merge(json!({ "data": { "replicas": "7" } }));
    let patched = maps.patch("web", &PatchParams::default(), &patch).await;
    patched.unwrap();
    let wanted = "--for=jsonpath={.spec.replicas}=7";
    let wait = ["wait", wanted, "--timeout=60s", "deployment/web"];
    cluster.kubectl(&wait).unwrap();
    let alone = deployments.get_status("web").await.unwrap();
    let status = alone.status.unwrap();
    assert_eq!(status.available_replicas.unwrap_or_default(), 0);
    assert_ne!(status.observed_generation, alone.metadata.generation);

    operator.shutdown_background();
    cluster.close().await.unwrap();
}

/// Waits until a Pod runs and is ready, deletes it, and waits until it is gone.
async fn run_a_pod(cluster: &Cluster, name: &str) {
    let pods = cluster.api::<Pod>();
    let pod = json!({
        "metadata": { "name": name },
        "spec": { "nodeName": "somewhere", "containers": [{ "name": "web", "image": "web" }] },
    });
    let made = pods.create(&PostParams::default(), &object(pod)).await;
    made.unwrap();
    let pod = format!("pod/{name}");
    let wait = ["wait", "--for=condition=Ready", "--timeout=60s", &pod];
    cluster.kubectl(&wait).unwrap();
    let status = pods.get(name).await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    assert!(status.container_statuses.unwrap()[0].ready);

    // This Pod has a node, so only a kubelet can end it.
    pods.delete(name, &kube::api::DeleteParams::default())
        .await
        .unwrap();
    let gone = async || Ok(pods.get_opt(name).await?.is_none().then_some(()));
    eventually(SOON, "the end of the Pod", gone).await.unwrap();
}

fn job(name: &str, mode: &str) -> Job {
    object(json!({
        "metadata": { "name": name },
        "spec": {
            "parallelism": 2,
            "completions": 3,
            "backoffLimit": 1,
            "completionMode": mode,
            "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [{ "name": "web", "image": "web" }],
            } },
        },
    }))
}

/// The types of the true conditions, in order.
fn conditions(status: &JobStatus) -> Vec<&str> {
    let all = status.conditions.iter().flatten();
    let all = all.filter(|one| one.status == "True");
    all.map(|one| one.type_.as_str()).collect()
}

/// The API server validates each step of a Job's status, so only steps that the real controller could take are stored.
pub async fn jobs_end_as_requested() {
    let cluster = Cluster::connect().await.unwrap();
    let kubelet = cluster.kubelet().unwrap();
    let jobs = cluster.api::<Job>();
    let mut suspended = job("suspended", "NonIndexed");
    suspended.spec.as_mut().unwrap().suspend = Some(true);
    let made = [
        job("good", "NonIndexed"),
        job("indexed", "Indexed"),
        job("bad", "NonIndexed"),
        job("endless", "NonIndexed"),
        suspended,
    ];
    for job in made {
        jobs.create(&PostParams::default(), &job).await.unwrap();
    }
    let status = async |name: &str| jobs.get(name).await.unwrap().status.unwrap();
    let active = "--for=jsonpath={.status.active}=2";
    let running = ["job/good", "job/indexed", "job/bad", "job/endless"];
    cluster
        .kubectl(&[&["wait", active, "--timeout=60s"], &running[..]].concat())
        .unwrap();
    assert!(conditions(&status("good").await).is_empty());

    kubelet.finish_jobs(|job| match job.metadata.name.as_deref() {
        Some("bad") => Some(JobEnd::Failed),
        Some("endless") => None,
        _ => Some(JobEnd::Succeeded),
    });
    let wait = |condition: &str, job: &str| {
        let condition = format!("--for=condition={condition}");
        let wait = ["wait", &condition, "--timeout=60s", job];
        cluster.kubectl(&wait).unwrap();
    };
    wait("complete", "job/good");
    wait("complete", "job/indexed");
    wait("failed", "job/bad");
    let good = status("good").await;
    assert_eq!(conditions(&good), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(
        (good.succeeded, good.active, good.ready),
        (Some(3), None, Some(0))
    );
    assert!(good.completion_time >= good.start_time);
    let indexed = status("indexed").await;
    assert_eq!(indexed.completed_indexes.as_deref(), Some("0-2"));
    let bad = status("bad").await;
    assert_eq!(conditions(&bad), ["FailureTarget", "Failed"]);
    assert_eq!((bad.failed, bad.active), (Some(2), None));
    let never = [
        "wait",
        "--for=condition=complete",
        "--timeout=1s",
        "job/bad",
    ];
    let error = cluster.kubectl(&never).unwrap_err().to_string();
    assert!(error.contains("\n    Job bad: Failed=True "), "{error}");
    assert_eq!(bad.completion_time, None);
    assert_eq!(status("endless").await.active, Some(2));
    assert_eq!(status("suspended").await.start_time, None);
    cluster.close().await.unwrap();
}
