//! Test caches that cannot be filled.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, CustomResourceExt, api::DeleteParams};
use manager::testing::eventually;

use crate::{
    operator::Sailor,
    replica::{LONG, Replica, Setup},
    world::World,
};

pub async fn a_leader_whose_crd_is_missing_logs_it_once_and_exits(
    world: &mut World,
) -> anyhow::Result<String> {
    let crds: Api<CustomResourceDefinition> = Api::all(world.plane.client.clone());
    crds.delete(Sailor::crd_name(), &DeleteParams::default())
        .await?;
    let result = without_crd(world).await;
    eventually(LONG, "the CRD is gone", async || {
        Ok(crds
            .get_opt(Sailor::crd_name())
            .await?
            .is_none()
            .then_some(()))
    })
    .await?;
    // Other tests need the CRD.
    world.plane.install().await?;
    result
}

async fn without_crd(world: &mut World) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let sailors = world.sailors(&namespace);
    eventually(
        LONG,
        "the API server no longer serves sailors",
        async || {
            let served = sailors.get_opt("nobody").await;
            Ok(matches!(served, Err(kube::Error::Api(error)) if error.code == 404).then_some(()))
        },
    )
    .await?;
    let setup = Setup::new(&namespace, &["--cache-sync-timeout=15s"]);
    let mut replica = Replica::start(&world.plane, "a", &setup).await?;
    let cause = "cache-Sailor.crew.example.com ok: not complete; cannot list";
    eventually(LONG, "the cause is shown", async || {
        let ready = replica.probe("/readyz?verbose")?;
        Ok((ready.status == 200 && ready.body.contains(cause)).then_some(()))
    })
    .await?;

    let status = replica.wait(LONG + Duration::from_secs(15)).await?;
    anyhow::ensure!(status.code() == Some(1), "{status}");
    let log = replica.log();
    let warnings = log.matches("cannot watch").count();
    anyhow::ensure!(warnings == 1, "{warnings} warnings\n{log}");
    let ended = log.lines().last().unwrap_or_default();
    let help = "is the CustomResourceDefinition `sailors.crew.example.com` installed";
    anyhow::ensure!(ended.contains(help), "{log}");
    Ok(format!("{} lines of log: {ended}", log.lines().count()))
}
