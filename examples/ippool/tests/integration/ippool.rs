//! Tests the `ippool` controller on a real API server.

use api::tsi::v1alpha1::IPPool;
use k8s_openapi::api::events::v1::Event;
use kbr_testing::{Cluster, eventually};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

use crate::pools::{OPERATOR, Reported, SOON, create_claims, create_pool, delete_all, settle};

fn wait(cluster: &Cluster, condition: &str, object: &str) -> anyhow::Result<()> {
    let until = format!("--for={condition}");
    cluster.kubectl(&["wait", &until, "--timeout=3m", object])?;
    Ok(())
}

/// IPP-5: a pool belongs to the whole cluster.
#[tokio::test]
async fn a_pool_is_cluster_scoped_and_reports_its_size() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let scope = [
        "get",
        "crd",
        "ippools.tsi.tiduyun.com",
        "-o",
        "jsonpath={.spec.scope}",
    ];
    assert_eq!(cluster.kubectl(&scope)?, "Cluster");
    let _operator = cluster.operator(OPERATOR)?;
    create_pool(&cluster, &["10.3.0.0/30", "2001:db8:3::/64"]).await?;
    let pool = format!("ippool/{}", cluster.namespace());
    wait(
        &cluster,
        "jsonpath={.status.capacity}=18446744073709551620",
        &pool,
    )?;
    delete_all(&cluster).await?;
    cluster.close().await
}

#[tokio::test]
async fn a_malformed_pool_is_rejected() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    for (cidrs, message) in [
        (&[][..], "should have at least 1 items"),
        (
            &["10.0.0.0/8", "banana"],
            "spec.cidrs[1]: Invalid value: \"banana\": is not a CIDR",
        ),
        (&["::ffff:10.0.0.0/120"], "is not a CIDR"),
        (&["10.0.0.1/24"], "has bits set after its prefix"),
        (&["10.0.0.0/24", "10.0.0.128/25"], "the CIDRs overlap"),
        (&["2001:db8::/64", "2001:DB8:0::/64"], "the CIDRs overlap"),
    ] {
        let error = create_pool(&cluster, cidrs)
            .await
            .expect_err("it is malformed");
        assert!(error.to_string().contains(message), "{cidrs:?}: {error}");
    }
    cluster.close().await
}

#[tokio::test]
async fn a_pool_in_use_grows_and_does_not_shrink() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    let (pool, pools) = (cluster.namespace(), Api::<IPPool>::all(cluster.client()));
    create_pool(&cluster, &["10.4.0.0/31", "2001:db8:4::/64"]).await?;
    create_claims(&cluster, 3, pool).await?;
    let reported = &mut Reported::default();
    settle(&[&cluster], pool, reported, (3, 0)).await?;
    let used = "jsonpath={.status.used}=3";
    wait(&cluster, used, &format!("ippool/{pool}"))?;

    let set = async |cidrs: &[&str]| {
        let patch = Patch::Merge(json!({ "spec": { "cidrs": cidrs } }));
        pools.patch(pool, &PatchParams::default(), &patch).await
    };
    for fewer in [&["10.4.0.0/31"][..], &["10.4.0.0/32", "2001:db8:4::/64"]] {
        let error = set(fewer).await.expect_err("it takes addresses away");
        assert!(
            error.to_string().contains("addresses are in use"),
            "{error}"
        );
    }
    set(&["10.4.0.0/30", "2001:db8:4::/60", "10.5.0.0/32"]).await?;

    cluster.kubectl(&["delete", "ipclaims", "--all"])?;
    wait(
        &cluster,
        "jsonpath={.status.used}=0",
        &format!("ippool/{pool}"),
    )?;
    set(&["10.5.0.0/32"]).await?;
    create_claims(&cluster, 2, pool).await?;
    settle(&[&cluster], pool, reported, (1, 1)).await?;
    delete_all(&cluster).await?;
    cluster.close().await
}

#[tokio::test]
async fn a_pool_in_use_is_not_deleted_and_says_who_holds_it() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    let (name, pool) = (
        cluster.namespace(),
        format!("ippool/{}", cluster.namespace()),
    );
    create_pool(&cluster, &["10.6.0.0/24"]).await?;
    create_claims(&cluster, 2, name).await?;
    settle(&[&cluster], name, &mut Reported::default(), (2, 0)).await?;

    cluster.kubectl(&["delete", "--wait=false", &pool])?;
    let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}=InUse"#;
    wait(&cluster, ready, &pool)?;
    let message = r#"jsonpath={.status.conditions[?(@.type=="Ready")].message}"#;
    let message = cluster.kubectl(&["get", &pool, "-o", message])?;
    for claim in ["claim-0", "claim-1"] {
        assert!(message.contains(&format!("{name}/{claim}")), "{message}");
    }
    // Events about objects without a namespace are in `default`.
    let events = Api::<Event>::namespaced(cluster.client(), "default");
    let published = || async {
        let events = events.list(&ListParams::default()).await?;
        let about = |event: &&Event| {
            event.regarding.as_ref().and_then(|it| it.name.as_deref()) == Some(name)
        };
        let mut reasons = events
            .iter()
            .filter(about)
            .filter_map(|event| event.reason.as_deref());
        Ok(reasons.any(|reason| reason == "InUse").then_some(()))
    };
    eventually(SOON, "an event", published).await?;

    // A claim that comes too late reports that.
    cluster.kubectl(&["delete", "ipclaim", "claim-0"])?;
    create_claims(&cluster, 1, name).await?;
    let deleting = r#"jsonpath={.status.conditions[?(@.type=="Ready")].reason}=PoolDeleting"#;
    wait(&cluster, deleting, "ipclaim/claim-0")?;

    cluster.kubectl(&["delete", "ipclaims", "--all"])?;
    wait(&cluster, "delete", &pool)?;
    cluster.close().await
}
