//! Tests the `ipclaim` controller on a real API server.

use anyhow::Context as _;
use api::tsi::v1alpha1::IPClaim;
use k8s_openapi::api::coordination::v1::Lease;
use kbr_testing::{Cluster, eventually};
use kube::{ResourceExt, api::DeleteParams};
use tokio::time::timeout;

use crate::pools::{
    OPERATOR, Reported, SOON, claims, create_claims, create_pool, delete_all, held, settle,
};

/// The samples that `kubectl apply -k` creates.
const SAMPLES: &str = "config/samples";

/// The Lease of the operators of one namespace.
const LEASE: &str = "tsi-controller.tiduyun.com";

#[tokio::test]
async fn the_samples_become_ready_and_go_when_they_are_deleted() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-k", SAMPLES])?;
    let ready = ["wait", "--for=condition=Ready", "--timeout=3m"];
    cluster.kubectl(
        &[
            &ready[..],
            &["ippool/ippool-sample", "ipclaim/ipclaim-sample"],
        ]
        .concat(),
    )?;
    cluster.kubectl(&["delete", "--timeout=3m", "-k", SAMPLES])?;
    cluster.close().await
}

/// `IPPOOL_ROUNDS` is how often the leader is killed, each time after it has reserved one more address.
#[tokio::test]
async fn no_address_is_handed_out_twice_although_the_leader_is_killed() -> anyhow::Result<()> {
    let rounds = std::env::var("IPPOOL_ROUNDS").map_or(Ok(1), |rounds| rounds.parse())?;
    for round in 0..rounds {
        fail_over(round)
            .await
            .with_context(|| format!("round {round}"))?;
    }
    Ok(())
}

/// Kills the leader while 50 claims compete for 40 addresses, and lets the other operator go on.
async fn fail_over(round: usize) -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let pool = cluster.namespace();
    let block = format!("10.{}.{}", 100 + round / 256, round % 256);
    create_pool(
        &cluster,
        &[&format!("{block}.0/27"), &format!("{block}.32/29")],
    )
    .await?;
    let leader = cluster.operator(OPERATOR)?;
    let first = holder(&cluster, None).await?;
    let _successor = cluster.operator(OPERATOR)?;

    create_claims(&cluster, 50, pool).await?;
    let reserved = async {
        while held(&cluster, pool).await?.len() <= round % 40 {}
        anyhow::Ok(())
    };
    timeout(SOON, reserved).await??;
    drop(leader); // kill -9

    let mut reported = Reported::default();
    settle(&[&cluster], pool, &mut reported, (40, 10)).await?;
    holder(&cluster, Some(first)).await?;
    free(&cluster, 10).await?;
    settle(&[&cluster], pool, &mut reported, (40, 0)).await?;
    delete_all(&cluster).await?;
    cluster.close().await
}

/// Waits until an operator of this namespace leads, another one than `before`.
async fn holder(cluster: &Cluster, before: Option<String>) -> anyhow::Result<String> {
    let leases = cluster.api::<Lease>();
    let holds = || async {
        let lease = leases.get_opt(LEASE).await?.unwrap_or_default();
        let holder = lease.spec.and_then(|spec| spec.holder_identity);
        Ok(holder.filter(|holder| !holder.is_empty() && Some(holder) != before.as_ref()))
    };
    eventually(SOON, "a leader", holds).await
}

/// Deletes so many claims that have an address.
async fn free(cluster: &Cluster, count: usize) -> anyhow::Result<()> {
    let all = claims(cluster).await?;
    let served = all.iter().filter(|claim| claim.address().is_some());
    for claim in served.take(count) {
        let claims = cluster.api::<IPClaim>();
        claims
            .delete(&claim.name_any(), &DeleteParams::default())
            .await?;
    }
    Ok(())
}

/// Worse than a failover: operators of two namespaces have a Lease each, and both lead. Each serves the claims of its namespace.
#[tokio::test]
async fn two_leaders_at_once_hand_out_each_address_once() -> anyhow::Result<()> {
    let (one, two) = (Cluster::connect().await?, Cluster::connect().await?);
    let pool = one.namespace();
    create_pool(&one, &["10.1.0.0/27", "2001:db8:1::/125"]).await?;
    let _operators = (one.operator(OPERATOR)?, two.operator(OPERATOR)?);
    let created = tokio::join!(create_claims(&one, 25, pool), create_claims(&two, 25, pool));
    created.0.and(created.1)?;

    let (both, mut reported) = ([&one, &two], Reported::default());
    settle(&both, pool, &mut reported, (40, 10)).await?;
    free(&one, 5).await?;
    free(&two, 5).await?;
    settle(&both, pool, &mut reported, (40, 0)).await?;

    two.kubectl(&["delete", "ipclaims", "--all"])?;
    delete_all(&one).await?;
    two.close().await?;
    one.close().await
}

/// In a cluster, which `make test-cluster` starts, a deleted namespace takes its claims with it: here, while no operator notices. The next
/// one that starts does.
#[cfg(feature = "cluster")]
#[tokio::test]
async fn the_addresses_of_a_namespace_that_was_deleted_are_released() -> anyhow::Result<()> {
    let (cluster, other) = (Cluster::connect().await?, Cluster::connect().await?);
    let (pool, mut reported) = (cluster.namespace(), Reported::default());
    create_pool(&cluster, &["10.2.0.0/28"]).await?;
    let operator = other.operator(OPERATOR)?;
    create_claims(&other, 16, pool).await?;
    settle(&[&other], pool, &mut reported, (16, 0)).await?;
    drop(operator);

    cluster.kubectl(&["delete", "namespace", other.namespace(), "--timeout=3m"])?;
    let _operator = cluster.operator(OPERATOR)?;
    create_claims(&cluster, 3, pool).await?;
    settle(&[&cluster], pool, &mut reported, (3, 0)).await?;
    delete_all(&cluster).await?;
    cluster.close().await
}
