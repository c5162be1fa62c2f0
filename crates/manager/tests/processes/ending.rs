//! Test SIGTERM during reconciles, and a manager that is dropped.

use std::time::Duration;

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kbr_testing::eventually;
use kube::{Api, api::ListParams};
use rustix::process::Signal;

use crate::{
    operator::{Fault, ID, RUN, SailorSpec, now},
    replica::{LONG, Replica, Setup},
    world::{Times, World, is_done},
};

const UNDER_WAY: usize = 50;

/// Starts a leader with the default lease times, and waits until all its reconciles are running.
async fn working(
    world: &mut World,
    spec: SailorSpec,
    flags: &[&str],
) -> anyhow::Result<(Setup, Replica)> {
    let namespace = world.namespace().await?;
    let mut setup = Setup::new(
        &namespace,
        &["--leader-elect", "--max-concurrent-reconciles=60"],
    );
    // One thread may be blocked, on any machine.
    let threads = ("TOKIO_WORKER_THREADS".to_owned(), "4".to_owned());
    setup.environment.push(threads);
    setup
        .flags
        .extend(flags.iter().map(|&flag| flag.to_owned()));
    world.make(&namespace, UNDER_WAY, |_| spec.clone()).await?;
    let leader = Replica::start(&world.plane, "a", &setup).await?;
    eventually(LONG, "all are under way", async || {
        let under_way = leader
            .runs()?
            .iter()
            .filter(|run| run.end.is_none())
            .count();
        Ok((under_way == UNDER_WAY).then_some(()))
    })
    .await?;
    Ok((setup, leader))
}

/// The holder of the lease.
async fn holder(world: &World, setup: &Setup) -> anyhow::Result<String> {
    let leases: Api<Lease> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    let spec = leases.get(ID).await?.spec.unwrap_or_default();
    Ok(spec.holder_identity.unwrap_or_default())
}

pub async fn sigterm_lets_reconciles_finish_and_then_releases_the_lease(
    world: &mut World,
) -> anyhow::Result<String> {
    let spec = SailorSpec {
        text: "whole".to_owned(),
        takes: 8000,
        ..SailorSpec::default()
    };
    let (setup, mut a) = working(world, spec, &[]).await?;
    // It waits for the lease, which lasts 15 s.
    let b = Replica::start(&world.plane, "b", &setup).await?;
    a.signal(Signal::TERM)?;
    let told = now();
    let freed = eventually(LONG, "the lease is free", async || {
        let a_leads = holder(world, &setup).await?.starts_with("a_");
        Ok((!a_leads).then(now))
    })
    .await?;
    let status = a.wait(LONG).await?;
    anyhow::ensure!(status.success(), "{status}\n{}", a.tail());

    let runs = a.runs()?;
    anyhow::ensure!(runs.len() == UNDER_WAY, "{} reconciles", runs.len());
    let ends: Vec<_> = runs.iter().filter_map(|run| run.end).collect();
    anyhow::ensure!(ends.len() == UNDER_WAY, "{} came to their end", ends.len());
    let sailors = world
        .sailors(&setup.namespace)
        .list(&ListParams::default())
        .await?;
    let whole = sailors.iter().filter(|sailor| is_done(sailor)).count();
    anyhow::ensure!(whole == UNDER_WAY, "{whole} have a status");
    let children: Api<ConfigMap> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    anyhow::ensure!(children.list(&ListParams::default()).await?.items.len() == UNDER_WAY);
    let last = ends.into_iter().max().unwrap_or_default();
    let led = b.reconciles(last, LONG).await?;
    Ok(format!(
        "{UNDER_WAY} reconciles ended {:.1?} after SIGTERM; {:.2?} later the lease was free, {:.1?} later the other reconciled",
        last.saturating_sub(told),
        freed.saturating_sub(last),
        led.saturating_sub(last),
    ))
}

pub async fn a_program_goes_on_after_it_has_dropped_its_manager_while_it_led(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let mut setup = Setup::new(&namespace, &[]);
    let times = Times {
        lease: Duration::from_secs(4),
        renew: Duration::from_millis(2500),
        retry: Duration::from_millis(500),
    };
    setup.flags = times.flags();
    let dropped = (RUN.to_owned(), "dropped".to_owned());
    setup.environment.push(dropped);
    world.make(&namespace, 1, |_| SailorSpec::default()).await?;
    let mut a = Replica::start(&world.plane, "a", &setup).await?;
    a.reconciles(Duration::ZERO, LONG).await?;
    let led = now();
    let status = a.wait(LONG).await?;
    anyhow::ensure!(status.success(), "{status}\n{}", a.tail());
    let after = now().saturating_sub(led);
    Ok(format!("it ended by itself {after:.0?} after it led"))
}

pub async fn the_shutdown_timeout_cancels_reconciles_and_lets_the_lease_expire(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut report = Vec::new();
    for fault in [Fault::Hang, Fault::Block] {
        let spec = SailorSpec {
            takes: 600_000,
            ..SailorSpec::default()
        };
        let (setup, mut a) = working(world, spec, &["--shutdown-timeout=1s"]).await?;
        // One more, because sleeping reconciles can be cancelled in any case.
        let spec = SailorSpec {
            fault: Some(fault),
            ..SailorSpec::default()
        };
        world.make_named(&setup.namespace, "worst", spec).await?;
        eventually(LONG, "it is under way", async || {
            Ok(a.runs()?
                .iter()
                .any(|run| run.name == "worst")
                .then_some(()))
        })
        .await?;
        a.signal(Signal::TERM)?;
        let told = now();
        let status = a.wait(LONG).await?;
        anyhow::ensure!(status.code() == Some(1), "{status}\n{}", a.tail());
        a.check_log()?;
        anyhow::ensure!(a.log().contains("did not end within"), "{}", a.tail());
        anyhow::ensure!(
            holder(world, &setup).await?.starts_with("a_"),
            "the lease was given up"
        );
        report.push(format!(
            "{fault:?}: ended after {:.1?}",
            now().saturating_sub(told)
        ));
    }
    Ok(report.join("; "))
}
