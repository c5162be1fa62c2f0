//! Measures how long a replica that stands by takes to lead.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
};
use tokio::time::sleep;

use crate::{
    Cli,
    objects::{change_one, name},
    operator::Operator,
    row,
};

/// How often it reads the Lease.
const POLL: Duration = Duration::from_millis(5);

/// Kills the leader, and measures how long the other replica takes.
pub async fn failover(
    cli: &Cli,
    client: Client,
    foos: &Api<DynamicObject>,
    leader: Operator,
) -> anyhow::Result<()> {
    leader.settle().await?;
    let leases: Api<Lease> = Api::default_namespaced(client);
    let lease = leases.list(&ListParams::default()).await?;
    let lease = lease.items.first().context("no lease")?.name_any();
    let holder = async || {
        anyhow::Ok(
            leases
                .get(&lease)
                .await?
                .spec
                .and_then(|it| it.holder_identity),
        )
    };
    let first = holder().await?;
    let standby = Operator::start(cli)?;
    sleep(Duration::from_secs(5)).await;
    standby.settle().await?;
    row("memory of the standby", &standby.memory("VmRSS")?);
    drop(leader);
    let killed = Instant::now();
    while holder().await? == first {
        sleep(POLL).await;
    }
    let won = killed.elapsed().as_secs_f64();
    let changed = change_one(foos, &name(cli.objects / 2), 2).await?;
    row("killed: another leads", &format!("after {won:.1} s"));
    row(
        "changed once another leads: ready",
        &format!("{changed:.2} s after the change"),
    );
    Ok(())
}
