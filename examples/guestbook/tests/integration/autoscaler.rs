//! Tests the scale subresource with a `HorizontalPodAutoscaler`, in a cluster.

use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use kbr_testing::Cluster;
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, PostParams},
    core::GroupVersionKind,
};
use serde_json::json;

use super::{DEPLOYMENT, GUESTBOOK, OPERATOR, SAMPLE, field, wait};

const AUTOSCALER: &str = "hpa/guestbook-sample";

/// Reports that a Pod uses this much CPU, as metrics-server does.
///
/// A `PodMetrics` is an object of an API that metrics-server serves. Here it is stored by a CRD of that name.
async fn report_cpu(cluster: &Cluster, pod: &Pod, cpu: &str) -> anyhow::Result<()> {
    let kind = GroupVersionKind::gvk("metrics.k8s.io", "v1beta1", "PodMetrics");
    let kind = ApiResource::from_gvk_with_plural(&kind, "pods");
    let api = Api::<DynamicObject>::namespaced_with(cluster.client(), cluster.namespace(), &kind);
    let mut metrics = DynamicObject::new(&pod.name_any(), &kind).data(json!({
        "timestamp": Timestamp::now(),
        "window": "0s",
        "containers": [{ "name": "web", "usage": { "cpu": cpu, "memory": "64Mi" } }],
    }));
    metrics.metadata.labels = Some(pod.labels().clone());
    api.create(&PostParams::default(), &metrics).await?;
    Ok(())
}

#[tokio::test]
async fn an_autoscaler_raises_the_replicas_and_the_deployment_follows() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", "tests/integration/pod_metrics.yaml"])?;
    let established = "condition=Established";
    wait(&cluster, established, "crd/pods.metrics.k8s.io")?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;

    // The sample is for 500m a Pod. It finds the Pods by the selector in the status.
    let selector = field(&cluster, GUESTBOOK, ".status.selector")?;
    let pods = cluster.api::<Pod>();
    for pod in pods.list(&ListParams::default().labels(&selector)).await? {
        report_cpu(&cluster, &pod, "1500m").await?;
    }
    cluster.kubectl(&["apply", "-f", "config/samples/autoscaler.yaml"])?;
    wait(&cluster, "condition=AbleToScale", AUTOSCALER)?;
    wait(&cluster, "jsonpath={.spec.replicas}=3", GUESTBOOK)?;
    wait(&cluster, "jsonpath={.spec.replicas}=3", DEPLOYMENT)?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;
    wait(&cluster, "jsonpath={.status.replicas}=3", GUESTBOOK)?;
    wait(&cluster, "jsonpath={.status.currentReplicas}=3", AUTOSCALER)?;
    cluster.close().await
}
