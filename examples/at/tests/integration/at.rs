//! Tests the `at` controller on a real API server.

use std::time::Duration;

use kbr_testing::Cluster;
use kube::{
    Api,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

use super::support::{
    AT, PAST, POD, after, create, end_command, operator, reaches, read, reschedule, wait,
};

/// The sample that `kubectl apply -k config/samples` creates.
const SAMPLE: &str = "config/samples/cnat_v1alpha1_at.yaml";

/// AT-6: the sample's time is a plain string. It is past, so the command runs at once.
#[tokio::test]
async fn the_sample_runs_once() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    reaches(&cluster, "RUNNING")?;
    let command = read(&cluster, POD, ".spec.containers[0].command")?;
    assert_eq!(command, r#"["sh","-c","echo YAY"]"#);

    end_command(&cluster, "Succeeded")?;
    reaches(&cluster, "DONE")?;
    wait(&cluster, "condition=Succeeded", AT)?;

    // It never runs again, neither because its Pod is gone nor at another time.
    cluster.kubectl(&["delete", POD])?;
    for schedule in [PAST, &after(Duration::from_secs(3600)), PAST] {
        reschedule(&cluster, schedule)?;
    }
    reaches(&cluster, "DONE")?;
    assert_eq!(cluster.kubectl(&["get", "pods", "-o", "name"])?, "");
    cluster.close().await
}

#[tokio::test]
async fn a_command_does_not_run_before_its_time() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    create(&cluster, &after(Duration::from_secs(3600))).await?;
    wait(&cluster, "condition=Ready", AT)?;
    assert_eq!(read(&cluster, AT, ".status.phase")?, "PENDING");

    let soon = after(Duration::from_secs(3));
    reschedule(&cluster, &soon)?;
    reaches(&cluster, "RUNNING")?;
    // Both are in UTC and whole seconds, so they can be compared as text.
    let created = read(&cluster, POD, ".metadata.creationTimestamp")?;
    assert!(created >= soon, "{created} is before {soon}");
    cluster.close().await
}

#[tokio::test]
async fn the_exit_code_of_a_failed_command_is_reported() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    create(&cluster, PAST).await?;
    reaches(&cluster, "RUNNING")?;
    end_command(&cluster, "Failed")?;
    reaches(&cluster, "DONE")?;
    let succeeded = ".status.conditions[?(@.type=='Succeeded')]";
    let status = read(&cluster, AT, &format!("{succeeded}.status"))?;
    let message = read(&cluster, AT, &format!("{succeeded}.message"))?;
    assert_eq!(
        (&*status, &*message),
        ("False", "the command exited with code 1")
    );
    cluster.close().await
}

/// The API server rejects most malformed times. The operator reports the others.
#[tokio::test]
async fn a_malformed_schedule_is_rejected_or_reported() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    let error = create(&cluster, "tomorrow")
        .await
        .expect_err("it is invalid");
    assert!(format!("{error:#}").contains("spec.schedule"), "{error:#}");

    create(&cluster, "2019-07-03T02:00:00+99:00").await?;
    wait(&cluster, "condition=Ready=False", AT)?;
    let reason = read(&cluster, AT, ".status.conditions[0].reason")?;
    assert_eq!(reason, "InvalidSchedule");

    reschedule(&cluster, PAST)?;
    reaches(&cluster, "RUNNING")?;
    cluster.close().await
}

/// AT-4: a client needs no generated code, and an object that does not exist is an ordinary error.
#[tokio::test]
async fn a_dynamic_client_reads_an_at() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    create(&cluster, PAST).await?;
    let kind = GroupVersionKind::gvk("cnat.programming-kubernetes.info", "v1alpha1", "At");
    let resource = ApiResource::from_gvk_with_plural(&kind, "ats");
    let ats: Api<DynamicObject> =
        Api::namespaced_with(cluster.client(), cluster.namespace(), &resource);
    let at = ats.get("example-at").await?;
    assert_eq!(at.data["spec"]["schedule"], PAST);
    let error = ats.get("another").await.expect_err("it does not exist");
    assert!(matches!(error, kube::Error::Api(status) if status.is_not_found()));
    cluster.close().await
}

/// In a cluster, the garbage collector deletes the Pod, which the operator releases.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_deleted_at_goes_with_its_pod() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = operator(&cluster)?;
    for cascade in ["--cascade=foreground", "--cascade=background"] {
        cluster.kubectl(&["apply", "-f", SAMPLE])?;
        reaches(&cluster, "RUNNING")?;
        cluster.kubectl(&["delete", cascade, "--timeout=3m", "-f", SAMPLE])?;
        wait(&cluster, "delete", POD)?;
    }
    cluster.close().await
}
