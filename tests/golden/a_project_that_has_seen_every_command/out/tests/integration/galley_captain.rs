//! Tests the `galley-captain` controller on a real API server.

use kbr_testing::Cluster;

/// The sample that `kubectl apply -k config/samples` creates.
const SAMPLE: &str = "config/samples/galley_v1_captain.yaml";

/// Applies the sample, and waits until it is ready.
fn apply_sample(cluster: &Cluster) -> anyhow::Result<()> {
    let ready = "--for=condition=Ready";
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    cluster.kubectl(&["wait", ready, "--timeout=3m", "-f", SAMPLE])?;
    Ok(())
}

#[tokio::test]
async fn the_sample_becomes_ready() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_captains"))?;
    apply_sample(&cluster)?;
    cluster.close().await
}

/// In a cluster, which `make test-cluster` starts, the garbage collector then deletes what the sample owned. To test that, add
/// `cluster.kubectl(&["wait", "--for=delete", "--timeout=3m", "deployment/..."])?;`.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_deleted_sample_is_removed() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_captains"))?;
    apply_sample(&cluster)?;
    cluster.kubectl(&["delete", "--timeout=3m", "-f", SAMPLE])?;
    cluster.close().await
}
