//! Tests the `foo` controller on a real API server.

use kbr_testing::Cluster;

/// The sample that `kubectl apply -k config/samples` creates.
const SAMPLE: &str = "config/samples/samplecontroller_v1alpha1_foo.yaml";

fn wait(cluster: &Cluster, condition: &str, object: &str) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&["wait", &until, "--timeout=3m", object])?;
    Ok(())
}

/// FOO-4, FOO-6: the CRD alone accepts objects, and the operator reconciles those that were there before it.
#[tokio::test]
async fn a_sample_that_is_older_than_the_operator_becomes_ready() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    assert_eq!(
        cluster.kubectl(&["get", "foos", "-o", "name"])?.trim(),
        "foo.samplecontroller.c9g.io/foo-sample"
    );
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_myk8soperator"))?;
    wait(&cluster, "condition=Ready", "foo/foo-sample")?;
    cluster.close().await
}

/// FOO-3, FOO-13: image and replicas are required, and a missing value is not a default.
#[tokio::test]
async fn a_foo_without_replicas_is_rejected() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let error = cluster.kubectl(&["create", "-f", "tests/integration/without_replicas.yaml"]);
    let error = format!("{:#}", error.expect_err("it is invalid"));
    assert!(error.contains("spec.replicas: Required value"), "{error}");
    cluster.close().await
}

/// SFC-1: what others do to the Deployment is undone.
#[tokio::test]
async fn a_deployment_that_was_scaled_or_deleted_by_hand_is_restored() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_myk8soperator"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", "foo/foo-sample")?;

    let deployment = "deployment/foo-sample";
    cluster.kubectl(&["scale", "--replicas=1", deployment])?;
    wait(&cluster, "jsonpath={.spec.replicas}=3", deployment)?;

    let uid = cluster.kubectl(&["get", deployment, "-o", "jsonpath={.metadata.uid}"])?;
    cluster.kubectl(&["delete", "--wait=false", deployment])?;
    wait(&cluster, "create", deployment)?;
    wait(&cluster, "jsonpath={.spec.replicas}=3", deployment)?;
    let restored = cluster.kubectl(&["get", deployment, "-o", "jsonpath={.metadata.uid}"])?;
    assert_ne!(uid, restored);
    cluster.close().await
}

/// A Deployment with another creator is reported, and left as it is.
#[tokio::test]
async fn a_deployment_of_that_name_that_is_not_ours_is_reported() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_myk8soperator"))?;
    cluster.kubectl(&["create", "deployment", "foo-sample", "--image=busybox"])?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready=False", "foo/foo-sample")?;
    let images = "jsonpath={.spec.template.spec.containers[*].image}";
    let images = cluster.kubectl(&["get", "deployment", "foo-sample", "-o", images])?;
    assert_eq!(images, "busybox");

    // Once it is gone, the retry creates ours.
    cluster.kubectl(&["delete", "deployment", "foo-sample"])?;
    wait(&cluster, "condition=Ready", "foo/foo-sample")?;
    cluster.close().await
}

/// In a cluster, which `make test-cluster` starts, the Deployment is rolled out.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn the_status_follows_the_available_pods() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_myk8soperator"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    let foo = "foo/foo-sample";
    wait(&cluster, "jsonpath={.status.availableReplicas}=3", foo)?;
    let patch = r#"{"spec":{"replicas":5}}"#;
    cluster.kubectl(&["patch", foo, "--type=merge", "-p", patch])?;
    wait(&cluster, "jsonpath={.status.availableReplicas}=5", foo)?;
    // SFC-7: events are recorded.
    let events = cluster.kubectl(&["events", "--for", foo])?;
    assert!(events.contains("5 Pods are available"), "{events}");
    cluster.close().await
}

/// In a cluster, the garbage collector deletes what a deleted sample owned.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn what_a_deleted_sample_owned_is_deleted() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_myk8soperator"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", "foo/foo-sample")?;
    cluster.kubectl(&["delete", "-f", SAMPLE])?;
    wait(&cluster, "delete", "deployment/foo-sample")?;
    cluster.close().await
}
