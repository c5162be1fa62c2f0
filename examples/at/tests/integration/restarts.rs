//! Kills the operator in each phase, and starts another one: nothing runs twice. Dropping an operator is `kill -9`.

use std::time::Duration;

use kbr_testing::Cluster;

use super::support::{
    AT, PAST, POD, after, create, end_command, operator, reaches, read, reschedule, wait,
};

/// Deletes the Pod while no operator runs: its finalizer keeps it.
fn delete_pod(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.kubectl(&["delete", "--wait=false", POD])?;
    wait(
        cluster,
        "jsonpath={.metadata.deletionGracePeriodSeconds}=0",
        POD,
    )
}

/// The condition `Succeeded` of an `At` that is done, and whose Pod is gone.
fn outcome(cluster: &Cluster) -> anyhow::Result<String> {
    reaches(cluster, "DONE")?;
    wait(cluster, "delete", POD)?;
    reschedule(cluster, &after(Duration::ZERO))?;
    assert_eq!(cluster.kubectl(&["get", "pods", "-o", "name"])?, "");
    read(
        cluster,
        AT,
        ".status.conditions[?(@.type=='Succeeded')].status",
    )
}

#[tokio::test]
async fn an_operator_that_was_killed_before_the_time_runs_the_command() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    create(&cluster, &after(Duration::from_secs(3600))).await?;
    let killed = operator(&cluster)?;
    reaches(&cluster, "PENDING")?;
    drop(killed);
    // The time comes while no operator runs.
    let past = format!(r#"{{"spec":{{"schedule":"{PAST}"}}}}"#);
    cluster.kubectl(&["patch", AT, "--type=merge", "-p", &past])?;
    let _operator = operator(&cluster)?;
    reaches(&cluster, "RUNNING")?;
    cluster.close().await
}

#[tokio::test]
async fn an_operator_that_was_killed_while_the_command_ran_reports_how_it_ended()
-> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    create(&cluster, PAST).await?;
    let killed = operator(&cluster)?;
    reaches(&cluster, "RUNNING")?;
    drop(killed);
    end_command(&cluster, "Succeeded")?;
    delete_pod(&cluster)?;
    let _operator = operator(&cluster)?;
    assert_eq!(outcome(&cluster)?, "True");
    cluster.close().await
}

/// The hardest moment: the Pod exists, the status does not say so yet, and the Pod is deleted.
#[tokio::test]
async fn an_operator_that_was_killed_right_after_it_had_created_the_pod_creates_no_other()
-> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    create(&cluster, PAST).await?;
    let killed = operator(&cluster)?;
    reaches(&cluster, "RUNNING")?;
    drop(killed);
    let pending = r#"{"status":{"phase":"PENDING"}}"#;
    cluster.kubectl(&[
        "patch",
        AT,
        "--subresource=status",
        "--type=merge",
        "-p",
        pending,
    ])?;
    delete_pod(&cluster)?;
    let _operator = operator(&cluster)?;
    assert_eq!(outcome(&cluster)?, "Unknown");
    cluster.close().await
}

#[tokio::test]
async fn an_operator_that_was_killed_after_the_command_had_ended_does_not_run_it_again()
-> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    create(&cluster, PAST).await?;
    let killed = operator(&cluster)?;
    reaches(&cluster, "RUNNING")?;
    end_command(&cluster, "Succeeded")?;
    reaches(&cluster, "DONE")?;
    drop(killed);
    // It may have released the Pod or not.
    cluster.kubectl(&["delete", "--wait=false", POD])?;
    let _operator = operator(&cluster)?;
    assert_eq!(outcome(&cluster)?, "True");
    cluster.close().await
}
