//! Tests the `cronjob` controller and its webhooks on a real API server.

use kbr_testing::Cluster;

/// The sample that `kubectl apply -k config/samples` creates. It is due every minute.
const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

fn wait(cluster: &Cluster, condition: &str, what: &[&str]) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&[&["wait", &until, "--timeout=3m"], what].concat())?;
    Ok(())
}

#[tokio::test]
async fn a_job_starts_within_a_minute() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_cronjob"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(&cluster, "condition=Ready", &["-f", SAMPLE])?;
    let limits = "jsonpath={.spec.successfulJobsHistoryLimit}/{.spec.failedJobsHistoryLimit}";
    let limits = cluster.kubectl(&["get", "-f", SAMPLE, "-o", limits])?;
    assert_eq!(limits, "3/1");

    wait(
        &cluster,
        "jsonpath={.status.lastScheduleTime}",
        &["-f", SAMPLE],
    )?;
    let owner = "jsonpath={.items[0].metadata.ownerReferences[0].name}";
    let owner = cluster.kubectl(&["get", "jobs", "-o", owner])?;
    assert_eq!(owner, "cronjob-sample");
    cluster.close().await
}

#[tokio::test]
async fn an_invalid_schedule_is_rejected_with_its_field() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_cronjob"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    let patch = r#"{"spec":{"schedule":"every day"}}"#;
    let error = cluster.kubectl(&["patch", "--type=merge", "-p", patch, "-f", SAMPLE]);
    let error = format!("{:#}", error.expect_err("it is invalid"));
    assert!(error.contains("spec.schedule: Invalid value"), "{error}");
    cluster.close().await
}

/// In a cluster, which `make test-cluster` starts, the Job runs to its end, and goes with the `CronJob`.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_job_completes_and_is_deleted_with_its_cronjob() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_cronjob"))?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    wait(
        &cluster,
        "jsonpath={.status.lastScheduleTime}",
        &["-f", SAMPLE],
    )?;
    wait(&cluster, "condition=Complete", &["jobs", "--all"])?;
    let job = cluster.kubectl(&["get", "jobs", "-o", "name"])?;
    let job = job.lines().next().unwrap_or_default();
    cluster.kubectl(&["delete", "-f", SAMPLE])?;
    wait(&cluster, "delete", &[job])?;
    cluster.close().await
}
