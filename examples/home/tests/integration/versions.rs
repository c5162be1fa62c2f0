//! Tests the conversion between `v1` and `v2`, for which the API server calls the operator.

use kbr_testing::Cluster;

use super::{OPERATOR, SAMPLES, V1, V2, field, patch, wait};

/// What only `v2` has: a second owner, and a temperature of the kitchen.
const MORE: &str = r#"{"spec":{
    "owners": ["ann", "bob"],
    "rooms": [{"name": "kitchen", "temperature": "21.5"}, {"name": "bedroom"}]
}}"#;

#[tokio::test]
async fn a_home_of_v1_can_be_read_in_v2() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["create", "-f", SAMPLES[0]])?;
    let address = field(&cluster, V2, ".spec.address")?;
    assert_eq!(address, r#"{"city":"Galway","street":"12 Quay Street"}"#);
    assert_eq!(
        field(&cluster, V2, ".spec.rooms[*].name")?,
        "kitchen bedroom"
    );
    cluster.close().await
}

#[tokio::test]
async fn a_home_can_be_changed_in_either_version() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLES[0]])?;

    patch(&cluster, V2, MORE)?;
    assert_eq!(field(&cluster, V1, ".spec.owner")?, "ann");
    assert_eq!(
        field(&cluster, V1, ".spec.rooms")?,
        r#"["kitchen","bedroom"]"#
    );

    patch(&cluster, V1, r#"{"spec":{"address":"1 Mill Lane, Cork"}}"#)?;
    assert_eq!(field(&cluster, V2, ".spec.address.city")?, "Cork");
    assert_eq!(field(&cluster, V2, ".spec.owners")?, r#"["ann","bob"]"#);
    let thermostats = "configmap/home-sample";
    wait(&cluster, "create", thermostats)?;
    wait(&cluster, "jsonpath={.data.kitchen}=21.5", thermostats)?;
    cluster.close().await
}

/// Users of `v1` need not know that there is a `v2`.
#[tokio::test]
async fn a_manifest_of_v1_that_is_applied_again_keeps_what_only_v2_has() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    let client_side = &["apply", "-f", SAMPLES[0]][..];
    let server_side = &["--server-side", "--force-conflicts"];
    for apply in [client_side, &[client_side, server_side].concat()] {
        cluster.kubectl(apply)?;
        patch(&cluster, V2, MORE)?;
        cluster.kubectl(apply)?;
        assert_eq!(field(&cluster, V2, ".spec.owners")?, r#"["ann","bob"]"#);
        let kitchen = field(&cluster, V2, ".spec.rooms[0].temperature")?;
        assert_eq!(kitchen, "21.5");
    }
    cluster.close().await
}

#[tokio::test]
async fn only_v1_has_the_annotation_with_what_it_lacks() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["create", "-f", SAMPLES[0]])?;
    patch(&cluster, V2, MORE)?;
    let annotation = r".metadata.annotations.ajd\.my\.domain/v2";
    let kept = field(&cluster, V1, annotation)?;
    assert_eq!(
        kept,
        r#"{"owners":["bob"],"temperatures":{"kitchen":"21.5"}}"#
    );
    assert_eq!(field(&cluster, V2, annotation)?, "");
    cluster.close().await
}
