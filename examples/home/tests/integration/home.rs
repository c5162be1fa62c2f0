//! Tests the `home` controller on a real API server.

use kbr_testing::Cluster;

use super::{OPERATOR, SAMPLES, field, patch, wait};

const THERMOSTATS: &str = "configmap/home-sample";

/// HOM-3: every sample of the kustomization is valid.
#[tokio::test]
async fn the_samples_of_both_versions_become_ready() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-k", "config/samples"])?;
    for home in ["home/home-sample", "home/lighthouse"] {
        wait(&cluster, "condition=Ready", home)?;
    }
    assert_eq!(field(&cluster, THERMOSTATS, ".data.kitchen")?, "20");
    let lighthouse = "configmap/lighthouse";
    assert_eq!(field(&cluster, lighthouse, ".data.bedroom")?, "17.5");
    cluster.close().await
}

#[tokio::test]
async fn thermostats_that_were_changed_by_hand_are_restored() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLES[0]])?;
    wait(&cluster, "condition=Ready", "home/home-sample")?;
    patch(&cluster, THERMOSTATS, r#"{"data":{"kitchen":"30"}}"#)?;
    wait(&cluster, "jsonpath={.data.kitchen}=20", THERMOSTATS)?;
    cluster.kubectl(&["delete", "--wait=false", THERMOSTATS])?;
    wait(&cluster, "create", THERMOSTATS)?;
    cluster.close().await
}

/// In a cluster, which `make test-cluster` starts, the garbage collector deletes what the sample owns before the sample itself.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn a_deleted_sample_is_removed_with_what_it_owns() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    let sample = SAMPLES[0];
    cluster.kubectl(&["apply", "-f", sample])?;
    wait(&cluster, "condition=Ready", "home/home-sample")?;
    let foreground = "--cascade=foreground";
    cluster.kubectl(&["delete", foreground, "--timeout=3m", "-f", sample])?;
    let names = cluster.kubectl(&["get", "configmaps", "-o", "name"])?;
    assert!(!names.contains(THERMOSTATS), "{names}");
    cluster.close().await
}
