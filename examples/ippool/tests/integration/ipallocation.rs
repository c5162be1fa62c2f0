//! Tests the `ipallocation` controller on a real API server: what an operator leaves behind when it ends between two steps.

use api::tsi::v1alpha1::{IPAllocation, IPAllocationSpec, IPClaim, IPClaimReference};
use kbr_testing::{Cluster, eventually};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::pools::{
    OPERATOR, Reported, SOON, claim, create_claims, create_pool, delete_all, held, settle,
};

/// Reserves an address of the pool of this test for a claim, like an operator that ends before it reports it.
async fn reserve(cluster: &Cluster, address: &str, name: &str, uid: &str) -> anyhow::Result<()> {
    let pool = cluster.namespace().to_owned();
    let claim = IPClaimReference {
        namespace: cluster.namespace().to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    };
    let labels = [(IPAllocation::POOL_LABEL.to_owned(), pool.clone())];
    let mut held = IPAllocation::new(address, IPAllocationSpec { pool, claim });
    held.metadata.labels = Some(labels.into());
    let api = Api::all(cluster.client());
    api.create(&PostParams::default(), &held).await?;
    Ok(())
}

#[tokio::test]
async fn an_address_that_was_reserved_and_not_reported_is_reported_by_the_next_operator()
-> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let pool = cluster.namespace();
    create_pool(&cluster, &["10.7.0.0/24"]).await?;
    create_claims(&cluster, 1, pool).await?;
    let waiting: IPClaim = cluster.api().get("claim-0").await?;
    let uid = waiting.uid().unwrap_or_default();
    reserve(&cluster, "10.7.0.9", "claim-0", &uid).await?;
    // A leader whose request was late has even reserved two. Only one of them is reported, and the other one released.
    reserve(&cluster, "10.7.0.7", "claim-0", &uid).await?;

    let _operator = cluster.operator(OPERATOR)?;
    settle(&[&cluster], pool, &mut Reported::default(), (1, 0)).await?;
    let address = cluster.api::<IPClaim>().get("claim-0").await?.address();
    assert_eq!(address, "10.7.0.7".parse().ok());
    delete_all(&cluster).await?;
    cluster.close().await
}

#[tokio::test]
async fn an_address_that_was_reserved_for_a_claim_that_is_gone_is_released() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let pool = cluster.namespace();
    create_pool(&cluster, &["10.8.0.0/31"]).await?;
    let _operator = cluster.operator(OPERATOR)?;
    reserve(&cluster, "10.8.0.0", "gone", "1").await?;
    // This one has a successor of its name.
    reserve(&cluster, "10.8.0.1", "claim-0", "2").await?;
    create_claims(&cluster, 2, pool).await?;
    settle(&[&cluster], pool, &mut Reported::default(), (2, 0)).await?;
    delete_all(&cluster).await?;
    cluster.close().await
}

/// Only the operator should delete allocations. The claim reserves its address again.
#[tokio::test]
async fn an_allocation_that_somebody_has_deleted_is_created_again() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let pool = cluster.namespace();
    create_pool(&cluster, &["10.9.0.0/31"]).await?;
    let _operator = cluster.operator(OPERATOR)?;
    create_claims(&cluster, 1, pool).await?;
    let mut reported = Reported::default();
    settle(&[&cluster], pool, &mut reported, (1, 0)).await?;
    cluster.kubectl(&["delete", "ipallocation", "10.9.0.0"])?;
    settle(&[&cluster], pool, &mut reported, (1, 0)).await?;
    delete_all(&cluster).await?;
    cluster.close().await
}

/// What the operator relies on: the API server rejects a change of what an address is held for, and of the address of a claim.
#[tokio::test]
async fn nobody_can_change_an_allocation_or_the_address_of_a_claim() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let claims = cluster.api::<IPClaim>();
    let created = claims
        .create(&PostParams::default(), &claim("a", "none"))
        .await?;
    let params = PatchParams::default();
    let merge = |patch| Patch::Merge(patch);
    let address = |address| merge(json!({ "status": { "address": address } }));
    claims
        .patch_status("a", &params, &address(Some("10.10.0.1")))
        .await?;
    for patch in [
        address(Some("10.10.0.2")),
        address(None),
        merge(json!({ "status": null })),
    ] {
        let error = claims.patch_status("a", &params, &patch).await;
        let error = error.expect_err("the address changes").to_string();
        assert!(
            error.contains("the address of a claim never changes"),
            "{error}"
        );
    }
    let other = merge(json!({ "spec": { "pool": "other" } }));
    let error = claims.patch("a", &params, &other).await;
    let error = error.expect_err("the pool changes").to_string();
    assert!(error.contains("a claim cannot be changed"), "{error}");

    reserve(
        &cluster,
        "10.10.0.1",
        "a",
        &created.uid().unwrap_or_default(),
    )
    .await?;
    let held = Api::<IPAllocation>::all(cluster.client());
    let error = held.patch("10.10.0.1", &params, &other).await;
    let error = error.expect_err("the pool changes").to_string();
    assert!(error.contains("an allocation cannot be changed"), "{error}");
    let alias = reserve(&cluster, "2001-0db8-0-0-0-0-0-1", "a", "1").await;
    let error = alias.expect_err("it is a second name").to_string();
    assert!(
        error.contains("the name is not that of an address"),
        "{error}"
    );
    release(&cluster).await
}

/// Deletes the claim of the test above, so that an operator of this namespace releases its address.
async fn release(cluster: &Cluster) -> anyhow::Result<()> {
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["delete", "ipclaims", "--all"])?;
    let released = || async {
        let held = held(cluster, cluster.namespace()).await?;
        Ok(held.is_empty().then_some(()))
    };
    eventually(SOON, "no address", released).await?;
    cluster.clone().close().await
}
