//! Tests the `guestbook` controller on a real API server.

#[cfg(feature = "cluster")]
use std::time::Duration;

use kbr_testing::Cluster;
#[cfg(feature = "cluster")]
use kbr_testing::eventually;

use super::{DEPLOYMENT, GUESTBOOK, OPERATOR, SAMPLE, error, field, patch, wait};

const CHECKSUM: &str = r".spec.template.metadata.annotations.webapp\.my\.domain/settings-checksum";

/// GBK-5: the defaulter runs before the object is stored.
#[tokio::test]
async fn the_sample_gets_its_children_and_the_defaults_of_webhook_and_schema() -> anyhow::Result<()>
{
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    let image = field(&cluster, GUESTBOOK, ".spec.image")?;
    assert!(image.ends_with("/gb-frontend:v5"), "{image}");
    wait(&cluster, "create", DEPLOYMENT)?;
    let path = "{.spec.template.spec.containers[0].image}";
    wait(&cluster, &format!("jsonpath={path}={image}"), DEPLOYMENT)?;
    let port = field(&cluster, "service/guestbook-sample", ".spec.ports[0].port")?;
    assert_eq!(port, "80");
    let title = field(
        &cluster,
        "configmap/guestbook-sample",
        ".data.GUESTBOOK_TITLE",
    )?;
    assert_eq!(title, "Leave a note");
    wait(
        &cluster,
        "jsonpath={.status.observedGeneration}=1",
        GUESTBOOK,
    )?;
    cluster.close().await
}

/// The bounds of the schema hold for the scale subresource, too. The webhooks are not called for it.
#[tokio::test]
async fn kubectl_scales_a_guestbook_within_the_bounds_of_the_schema() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "jsonpath={.spec.replicas}=1", GUESTBOOK)?;

    cluster.kubectl(&["scale", "--replicas=3", GUESTBOOK])?;
    wait(&cluster, "create", DEPLOYMENT)?;
    wait(&cluster, "jsonpath={.spec.replicas}=3", DEPLOYMENT)?;

    // The sample names no replicas, so applying it again does not undo the scaling.
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    assert_eq!(field(&cluster, GUESTBOOK, ".spec.replicas")?, "3");

    let error = error(cluster.kubectl(&["scale", "--replicas=51", GUESTBOOK]));
    assert!(error.contains("spec.replicas"), "{error}");
    cluster.close().await
}

#[tokio::test]
async fn a_changed_title_rolls_the_deployment_and_a_changed_port_does_not() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "create", DEPLOYMENT)?;
    let before = field(&cluster, DEPLOYMENT, CHECKSUM)?;

    patch(&cluster, GUESTBOOK, r#"{"spec":{"port":8080}}"#)?;
    let observed = "jsonpath={.status.observedGeneration}";
    wait(&cluster, &format!("{observed}=2"), GUESTBOOK)?;
    assert_eq!(field(&cluster, DEPLOYMENT, CHECKSUM)?, before);
    let ports = "{.spec.ports[0].port}";
    wait(
        &cluster,
        &format!("jsonpath={ports}=8080"),
        "service/guestbook-sample",
    )?;

    patch(&cluster, GUESTBOOK, r#"{"spec":{"title":"Visitors"}}"#)?;
    wait(&cluster, &format!("{observed}=3"), GUESTBOOK)?;
    assert_ne!(field(&cluster, DEPLOYMENT, CHECKSUM)?, before);
    cluster.close().await
}

#[tokio::test]
async fn children_that_were_changed_or_deleted_by_hand_are_restored() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "create", DEPLOYMENT)?;

    let settings = "configmap/guestbook-sample";
    patch(
        &cluster,
        settings,
        r#"{"data":{"GUESTBOOK_TITLE":"Hacked"}}"#,
    )?;
    let title = "jsonpath={.data.GUESTBOOK_TITLE}=Leave a note";
    wait(&cluster, title, settings)?;

    let service = "service/guestbook-sample";
    cluster.kubectl(&["delete", "--wait=false", service])?;
    wait(&cluster, "create", service)?;
    cluster.close().await
}

/// In a cluster, which `make test-cluster` starts, the Deployment is rolled out, and `Ready` tells when.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_guestbook_is_ready_while_its_pods_are_up_to_date_and_available() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;

    // Pods that never start, by an annotation of the Deployment that the operator leaves alone.
    let pending =
        r#"{"spec":{"template":{"metadata":{"annotations":{"kbr/pod-phase":"Pending"}}}}}"#;
    patch(&cluster, DEPLOYMENT, pending)?;
    wait(&cluster, "condition=Ready=False", GUESTBOOK)?;
    let running = pending.replace(r#""Pending""#, "null");
    patch(&cluster, DEPLOYMENT, &running)?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;
    cluster.close().await
}

/// In a cluster, a changed title replaces the Pods, which read their settings when they start.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_changed_title_replaces_the_pods() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;
    let before = cluster.kubectl(&["get", "pods", "-o", "name"])?;

    patch(&cluster, GUESTBOOK, r#"{"spec":{"title":"Visitors"}}"#)?;
    let old = before.trim();
    wait(&cluster, "delete", old)?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;
    cluster.close().await
}

/// In a cluster, the garbage collector deletes what the sample owns before the sample itself.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_deleted_sample_is_removed_with_what_it_owns() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", GUESTBOOK)?;
    let foreground = "--cascade=foreground";
    cluster.kubectl(&["delete", foreground, "--timeout=3m", "-f", SAMPLE])?;
    // The operator may restore a child before it sees that the sample is deleted. That child is deleted last.
    let kinds = "deployments,services,configmaps,pods";
    let get = ["get", kinds, "-l", "app.kubernetes.io/name", "-o", "name"];
    let all_deleted = async || Ok(cluster.kubectl(&get)?.is_empty().then_some(()));
    let limit = Duration::from_secs(180);
    eventually(limit, "all children are deleted", all_deleted).await?;
    cluster.close().await
}
