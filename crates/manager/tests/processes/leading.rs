//! Test that there is one leader, whatever happens to the processes and to the network.

use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::ConfigMap},
    jiff::Timestamp,
};
use kbr_testing::eventually;
use kube::{Api, api::ListParams};
use rustix::process::Signal;
use tokio::time::sleep;

use crate::{
    journal::{Span, check_apart, span},
    operator::{Fault, ID, RUN, SailorSpec, now},
    proxy::{Mode, Proxy},
    replica::{LONG, Replica, Setup},
    world::{Times, World, random},
};

/// The tolerance for measured times on a busy machine.
pub const SLACK: Duration = Duration::from_secs(10);

/// The number of objects, which are all reconciled at once.
const WORKERS: usize = 8;

/// Objects that are reconciled all the time, with a write in each reconcile.
fn busy(_: usize) -> SailorSpec {
    SailorSpec {
        takes: 30,
        every: 20,
        restless: true,
        ..SailorSpec::default()
    }
}

/// Creates a namespace with busy objects; returns the setup for replicas there.
pub async fn scene(world: &mut World, times: Times) -> anyhow::Result<Setup> {
    let namespace = world.namespace().await?;
    world.make(&namespace, WORKERS, busy).await?;
    let mut setup = Setup::new(&namespace, &[]);
    setup.flags = times.flags();
    Ok(setup)
}

/// Starts two replicas, the first of which leads.
pub async fn pair(world: &World, setup: &Setup) -> anyhow::Result<(Replica, Replica)> {
    let a = Replica::start(&world.plane, "a", setup).await?;
    a.reconciles(Duration::ZERO, LONG).await?;
    let b = Replica::start(&world.plane, "b", setup).await?;
    stands_by(&b).await?;
    Ok((a, b))
}

/// Waits until a replica has seen that another one leads.
async fn stands_by(replica: &Replica) -> anyhow::Result<()> {
    let seen = async || {
        Ok(replica
            .log()
            .contains("another process leads")
            .then_some(()))
    };
    eventually(LONG, "the second stands by", seen).await
}

pub async fn another_replica_takes_over_when_the_leader_is_killed(
    world: &mut World,
) -> anyhow::Result<String> {
    let times = world.times();
    let setup = scene(world, times).await?;
    let mut slowest = Duration::ZERO;
    for _ in 0..world.either(1, 5) {
        let (mut a, b) = pair(world, &setup).await?;
        sleep(random(Duration::ZERO, times.retry * 2)).await;
        a.signal(Signal::KILL)?;
        a.wait(LONG).await?;
        let killed = now();
        let led = b.reconciles(Duration::ZERO, LONG).await?;
        let spans = [span(&a.runs()?, killed), span(&b.runs()?, now())];
        check_apart(&spans.into_iter().flatten().collect::<Vec<_>>())?;
        slowest = slowest.max(led.saturating_sub(killed));
        drop(b);
        // The next round starts with an expired lease.
        sleep(times.lease).await;
    }
    let most = times.lease + times.retry * 2;
    anyhow::ensure!(
        slowest <= most + SLACK,
        "it took {slowest:?}, {most:?} at most"
    );
    Ok(format!(
        "reconciles after {slowest:.1?}; lease + 2 retry periods are {most:?}"
    ))
}

pub async fn a_warm_standby_lists_nothing_when_it_takes_over(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut setup = scene(world, world.times()).await?;
    setup.flags.push("--warm-standby".to_owned());
    let (mut a, b) = pair(world, &setup).await?;
    eventually(LONG, "the caches of the standby are filled", async || {
        Ok((b.metric("manager_cache_synced", "")? >= 2.0).then_some(()))
    })
    .await?;
    let ready = b.probe("/readyz")?.status;
    anyhow::ensure!(ready == 200 && b.runs()?.is_empty(), "{}", b.tail());
    let mark = world.plane.audit.mark();
    a.signal(Signal::KILL)?;
    a.wait(LONG).await?;
    // The standby sees the change before it leads.
    let changed = |_| SailorSpec {
        text: "after the kill".to_owned(),
        ..SailorSpec::default()
    };
    world.change(&setup.namespace, WORKERS, changed).await?;
    let led = b.reconciles(Duration::ZERO, LONG).await?;
    world.converged(&setup.namespace, LONG, |_| true).await?;

    let requests = world.plane.audit.since(mark, &setup.namespace)?;
    let lists: Vec<_> = requests
        .iter()
        .filter(|it| it.user == "b" && it.lists())
        .collect();
    anyhow::ensure!(lists.is_empty(), "{lists:?}\n{}", b.tail());
    let leases: Api<Lease> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    let lease = leases.get(ID).await?.spec.unwrap_or_default();
    let acquired = lease.acquire_time.context("the lease is held")?.0;
    let since = Duration::try_from(Timestamp::now().duration_since(acquired))?;
    let won = now().saturating_sub(since);
    Ok(format!(
        "reconciles {:.3?} after it asked for the lease",
        led.saturating_sub(won)
    ))
}

pub async fn randomly_disconnected_replicas_never_reconcile_at_the_same_time(
    world: &mut World,
) -> anyhow::Result<String> {
    let times = world.times();
    let setup = scene(world, times).await?;
    let (a, b) = pair(world, &setup).await?;
    let (mut replicas, mut spans) = ([a, b], Vec::new());
    let (rounds, mut lost) = (world.either(4, 21), 0);
    for round in 0..rounds {
        let mode = [Mode::Swallow, Mode::Refuse, Mode::Hold][round % 3];
        sleep(random(times.retry, times.retry * 3)).await;
        let since = now();
        let leader = leader(&replicas, since).await?;
        // Shorter than the deadline, or longer than the lease.
        let least = if round == 0 {
            times.lease
        } else {
            times.renew / 2
        };
        let cut = random(least, times.lease.mul_f64(1.8));
        replicas[leader].proxy.set(mode);
        sleep(cut).await;
        replicas[leader].proxy.set(Mode::Pass);
        sleep(times.retry).await;
        for replica in &mut replicas {
            lost += revive(world, &setup, replica, &mut spans)?;
        }
    }
    for replica in &replicas {
        spans.extend(span(&replica.runs()?, now()));
    }
    let gap = check_apart(&spans)?.unwrap_or_default();
    anyhow::ensure!(lost > 0, "none was cut off for long enough");
    Ok(format!(
        "{rounds} rounds, {lost} lost the lease; {gap:.1?} at least between two that reconciled"
    ))
}

/// Which of the two replicas reconciles.
async fn leader(replicas: &[Replica; 2], since: Duration) -> anyhow::Result<usize> {
    eventually(LONG, "one reconciles", async || {
        for (at, replica) in replicas.iter().enumerate() {
            if replica.runs()?.last().is_some_and(|run| run.begin >= since) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    })
    .await
}

/// Restarts a replica that has ended, like the kubelet, and counts the restart.
fn revive(
    world: &World,
    setup: &Setup,
    replica: &mut Replica,
    spans: &mut Vec<Span>,
) -> anyhow::Result<usize> {
    let Some(status) = replica.ended()? else {
        return Ok(0);
    };
    anyhow::ensure!(status.code() == Some(1), "{status}\n{}", replica.tail());
    spans.extend(span(&replica.runs()?, now()));
    let proxy: Proxy = replica.proxy.clone();
    *replica = Replica::start_behind(&world.plane, replica.user, setup, proxy)?;
    Ok(1)
}

pub async fn a_paused_leader_does_nothing_when_it_resumes(
    world: &mut World,
) -> anyhow::Result<String> {
    let times = world.times();
    let setup = scene(world, times).await?;
    let (mut a, b) = pair(world, &setup).await?;
    a.signal(Signal::STOP)?;
    let stopped = now();
    let led = b.reconciles(Duration::ZERO, LONG).await?;
    let rest = world.either(times.lease, Duration::from_secs(60));
    sleep(rest.saturating_sub(now().saturating_sub(stopped))).await;

    let (mark, resumed) = (world.plane.audit.mark(), now());
    a.signal(Signal::CONT)?;
    let status = a.wait(LONG).await?;
    let ended = now();
    anyhow::ensure!(status.code() == Some(1), "{status}\n{}", a.tail());
    let late: Vec<_> = a
        .runs()?
        .into_iter()
        .filter(|run| run.begin >= resumed)
        .collect();
    anyhow::ensure!(late.is_empty(), "began after the deadline: {late:?}");
    let requests = world.plane.audit.since(mark, &setup.namespace)?;
    let writes: Vec<_> = requests
        .iter()
        .filter(|it| it.user == "a" && it.writes())
        .collect();
    anyhow::ensure!(writes.len() <= WORKERS, "{writes:?}");
    anyhow::ensure!(led < resumed && b.runs()?.last().is_some());
    Ok(format!(
        "stopped for {:.0?}, ended {:.2?} after it went on; writes that still went out: {}",
        resumed.saturating_sub(stopped),
        ended.saturating_sub(resumed),
        writes.len(),
    ))
}

pub async fn a_leader_with_all_threads_blocked_ends_before_another_leads(
    world: &mut World,
) -> anyhow::Result<String> {
    let times = world.times();
    let mut gaps = Vec::new();
    for run in ["run", "run_until"] {
        let mut setup = scene(world, times).await?;
        setup.environment.push((RUN.to_owned(), run.to_owned()));
        let (mut a, b) = pair(world, &setup).await?;
        let block = |_| SailorSpec {
            fault: Some(Fault::Block),
            ..SailorSpec::default()
        };
        world.change(&setup.namespace, WORKERS, block).await?;
        let status = a.wait(LONG).await.context(run)?;
        let ended = now();
        anyhow::ensure!(status.code() == Some(1), "{status}\n{}", a.tail());
        world.change(&setup.namespace, WORKERS, busy).await?;
        b.reconciles(Duration::ZERO, LONG).await?;
        let spans = [span(&a.runs()?, ended), span(&b.runs()?, now())];
        let gap = check_apart(&spans.into_iter().flatten().collect::<Vec<_>>())?;
        gaps.push(format!("{run}: {:.1?}", gap.unwrap_or_default()));
    }
    Ok(format!("{} before another reconciled", gaps.join(", ")))
}

pub async fn a_leader_whose_connections_freeze_keeps_leading_and_writing(
    world: &mut World,
) -> anyhow::Result<String> {
    let times = world.times();
    let setup = scene(world, times).await?;
    let (mut a, b) = pair(world, &setup).await?;
    let leases: Api<Lease> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    let transitions = async || {
        anyhow::Ok(
            leases
                .get(ID)
                .await?
                .spec
                .and_then(|it| it.lease_transitions),
        )
    };
    let before = transitions().await?;
    a.proxy.freeze();
    let frozen = now();
    // The writes in progress fail after 40 s.
    let children: Api<ConfigMap> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    let written = eventually(LONG + SLACK, "all children are written", async || {
        let children = children.list(&ListParams::default()).await?.items;
        let new = children.iter().filter(|child| written_at(child) > frozen);
        Ok((new.count() == WORKERS).then(now))
    });
    let written = written.await.with_context(|| a.tail())?;
    anyhow::ensure!(a.ended()?.is_none(), "{}", a.tail());
    anyhow::ensure!(b.runs()?.is_empty(), "the other replica led");
    anyhow::ensure!(transitions().await? == before, "the lease changed hands");
    let after = written.saturating_sub(frozen);
    Ok(format!(
        "it led on, and all was written again after {after:.1?}"
    ))
}

/// When a restless child was written.
fn written_at(child: &ConfigMap) -> Duration {
    let data = child.data.as_ref().and_then(|data| data.get("now"));
    let nanos = data.and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
