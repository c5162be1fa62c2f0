//! Tests objects that were stored before `v2` became the storage version.
//!
//! This is a program of its own, because it changes the CRD that all tests share.

use std::time::Duration;

use kbr_testing::{Cluster, eventually};
use serde_json::{Value, json};

const V1: &str = "homes.v1.ajd.my.domain/home-sample";
const V2: &str = "homes.v2.ajd.my.domain/home-sample";

#[tokio::test]
async fn a_home_that_was_stored_as_v1_can_be_read_and_changed_in_both() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    store_as(&cluster, "v1").await?;
    cluster.kubectl(&["create", "-f", "config/samples/ajd_v1_home.yaml"])?;
    store_as(&cluster, "v2").await?;

    let _operator = cluster.operator(env!("CARGO_BIN_EXE_home"))?;
    let ready = "--for=condition=Ready";
    cluster.kubectl(&["wait", ready, "--timeout=3m", V2])?;
    let city = "jsonpath={.spec.address.city}";
    assert_eq!(cluster.kubectl(&["get", V2, "-o", city])?, "Galway");
    let address = "jsonpath={.spec.address}";
    let before = cluster.kubectl(&["get", V1, "-o", address])?;
    assert_eq!(before, "12 Quay Street, Galway");

    // This stores it as `v2`.
    let patch = r#"{"spec":{"address":{"street":"1 Mill Lane","city":"Cork"}}}"#;
    cluster.kubectl(&["patch", V2, "--type=merge", "-p", patch])?;
    let after = cluster.kubectl(&["get", V1, "-o", address])?;
    assert_eq!(after, "1 Mill Lane, Cork");
    cluster.kubectl(&["delete", "--wait=false", V2])?;
    cluster.close().await
}

/// Makes the API server store objects as this version.
async fn store_as(cluster: &Cluster, version: &str) -> anyhow::Result<()> {
    let before = storage(cluster)?;
    let change = |at: usize, name: &str| {
        let path = format!("/spec/versions/{at}");
        let test = json!({ "op": "test", "path": format!("{path}/name"), "value": name });
        let path = format!("{path}/storage");
        [
            test,
            json!({ "op": "replace", "path": path, "value": name == version }),
        ]
    };
    let steps = json!([change(0, "v2"), change(1, "v1")].concat()).to_string();
    let crd = "crd/homes.ajd.my.domain";
    cluster.kubectl(&["patch", crd, "--type=json", "-p", &steps])?;
    let changed = async || Ok((storage(cluster)? != before).then_some(()));
    eventually(Duration::from_secs(180), version, changed).await
}

/// The hash of the storage version, which changes once the API server uses another one.
fn storage(cluster: &Cluster) -> anyhow::Result<Value> {
    let group = cluster.kubectl(&["get", "--raw", "/apis/ajd.my.domain/v1"])?;
    let mut group: Value = serde_json::from_str(&group)?;
    let resources = group["resources"].as_array_mut().into_iter().flatten();
    let homes = resources.filter(|resource| resource["name"] == "homes");
    let hash = homes.map(|homes| homes["storageVersionHash"].take()).next();
    Ok(hash.unwrap_or_default())
}
