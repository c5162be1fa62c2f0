//! IPP-6: a program of others, which knows of this operator nothing but the crate `api`, claims an address.

use std::net::IpAddr;

use api::tsi::v1alpha1::{IPAllocation, IPAllocationSpec, IPClaim, IPClaimSpec};
use kbr_testing::{Cluster, eventually};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, PostParams},
};

use crate::pools::{OPERATOR, SOON, create_pool, delete_all};

/// Claims an address, and waits for it.
async fn address(claims: &Api<IPClaim>, name: &str, pool: &str) -> anyhow::Result<IpAddr> {
    let pool = pool.to_owned();
    let claim = IPClaim::new(name, IPClaimSpec { pool, family: None });
    claims.create(&PostParams::default(), &claim).await?;
    let served = || async { Ok(claims.get(name).await?.address()) };
    eventually(SOON, "an address", served).await
}

/// A client of a user who may edit the claims in the namespace of this test, and nothing else.
async fn client_of_a_user(cluster: &Cluster) -> anyhow::Result<Client> {
    cluster.kubectl(&["apply", "-f", "config/rbac/tsi_ipclaim_editor_role.yaml"])?;
    let role = "--clusterrole=tsi-controller-tsi-ipclaim-editor-role";
    cluster.kubectl(&["create", "rolebinding", "team", role, "--user=team"])?;
    let mut config = Config::infer().await?;
    config.auth_info.impersonate = Some("team".to_owned());
    Ok(Client::try_from(config)?)
}

#[tokio::test]
async fn a_program_of_a_user_claims_an_address_with_the_types_alone() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    create_pool(&cluster, &["2001:db8:a::/64"]).await?;
    let client = client_of_a_user(&cluster).await?;

    let claims = Api::namespaced(client.clone(), cluster.namespace());
    let first = address(&claims, "first", cluster.namespace()).await?;
    let second = address(&claims, "second", cluster.namespace()).await?;
    assert_eq!(
        [first, second].map(|address| address.to_string()),
        ["2001:db8:a::", "2001:db8:a::1"]
    );
    claims.delete("first", &DeleteParams::default()).await?;

    // Addresses are reserved by the operator alone.
    let own = IPAllocation::new("10.0.0.1", IPAllocationSpec::default());
    let error = Api::all(client).create(&PostParams::default(), &own).await;
    assert!(error.is_err_and(|error| error.to_string().contains("forbidden")));
    delete_all(&cluster).await?;
    cluster.close().await
}
