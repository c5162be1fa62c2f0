//! Test objects that fail, conflict, rest, or are edited by hand.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::eventually;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{
    audit::Answered,
    operator::{Fault, SailorSpec, now},
    replica::{LONG, Replica, Setup},
    world::{World, is_done},
};

/// The time limit for many objects on a busy machine.
const MANY: Duration = Duration::from_secs(300);

fn quick(_: usize) -> SailorSpec {
    SailorSpec {
        text: "first".to_owned(),
        ..SailorSpec::default()
    }
}

pub async fn objects_that_fail_panic_or_hang_delay_no_others(
    world: &mut World,
) -> anyhow::Result<String> {
    let (count, bad) = world.either((300, 5), (1000, 10));
    let faults = move |number| SailorSpec {
        fault: match number {
            0 => Some(Fault::Hang),
            _ if number <= bad => Some(Fault::Fail),
            _ if number <= 2 * bad => Some(Fault::Panic),
            _ => None,
        },
        ..quick(number)
    };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    // Each several times in turn, because the load of the machine changes.
    for _ in 0..world.either(1, 3) {
        without.push(cold_start(world, count, quick).await?.0);
        let (took, replica) = cold_start(world, count, faults).await?;
        with.push(took);
        seen(&replica, bad).await?;
    }
    let (without, with) = (least(&without), least(&with));
    Ok(format!(
        "{count} objects of which {bad} fail, {bad} panic and 1 hangs: {with:.1?}, without these {without:.1?}, ratio {:.2}",
        with.as_secs_f64() / without.as_secs_f64(),
    ))
}

fn least(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}

/// Starts a replica with new objects; returns the time for those without a fault, and the replica.
async fn cold_start(
    world: &mut World,
    count: usize,
    spec: impl Fn(usize) -> SailorSpec,
) -> anyhow::Result<(Duration, Replica)> {
    let namespace = world.namespace().await?;
    world.make(&namespace, count, spec).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    let started = now();
    world
        .converged(&namespace, MANY, |sailor| sailor.spec.fault.is_none())
        .await?;
    Ok((now().saturating_sub(started), replica))
}

/// Waits until the metrics show all faults, and checks that the process counts as alive.
async fn seen(replica: &Replica, bad: usize) -> anyhow::Result<()> {
    let least = f64::from(u32::try_from(bad)?);
    eventually(LONG, "metrics show what goes wrong", async || {
        let metric = |name: &str, labels: &str| replica.metric(name, labels);
        let panics = metric("controller_runtime_reconcile_panics_total", "")?;
        let errors = metric("controller_runtime_reconcile_total", "result=\"error\"")?;
        let active = metric("controller_runtime_active_workers", "")?;
        let unfinished = metric("workqueue_unfinished_work_seconds", "")?;
        let seen = panics >= least && errors >= 2.0 * least && active >= 1.0 && unfinished > 0.0;
        anyhow::ensure!(
            seen,
            "{panics} panics, {errors} errors, {active} active, {unfinished} s unfinished"
        );
        Ok(Some(()))
    })
    .await?;
    let alive = replica.probe("/healthz")?;
    anyhow::ensure!(alive.status == 200, "{}", alive.body);
    replica.check_log()?;
    let line = replica
        .log()
        .lines()
        .find(|line| line.contains("told to panic"))
        .map(str::to_owned);
    let line = line.context("the panic is not logged")?;
    anyhow::ensure!(line.contains("operator.rs:"), "without its place: {line}");
    Ok(())
}

pub async fn a_second_writer_loses_no_write_and_causes_no_endless_loop(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let count = world.either(20, 100);
    let spec = |number| SailorSpec {
        takes: 50,
        ..quick(number)
    };
    world.make(&namespace, count, spec).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    let mark = world.plane.audit.mark();
    let storm = Duration::from_secs(world.either(5, 60));
    let written = storm_of_writes(world, &namespace, count, storm).await?;
    world.converged(&namespace, MANY, |_| true).await?;

    let sailors = world
        .sailors(&namespace)
        .list(&ListParams::default())
        .await?;
    for sailor in &sailors {
        let other = sailor
            .status
            .as_ref()
            .and_then(|status| status.other.as_deref());
        anyhow::ensure!(other == Some("last"), "lost: {:?}", sailor.status);
    }
    let runs = replica.runs()?.len();
    quiet(world, &namespace, Duration::from_secs(3)).await?;
    anyhow::ensure!(replica.runs()?.len() == runs, "it goes on reconciling");
    let requests = world.plane.audit.since(mark, &namespace)?;
    let conflicts = requests.iter().filter(|it| it.code == 409).count();
    // Each write triggers at most one reconcile, and each conflict causes one retry.
    anyhow::ensure!(
        runs <= 2 * (written + count),
        "{runs} reconciles of {written} changes"
    );
    Ok(format!(
        "{written} changes of {count} objects: {runs} reconciles, {conflicts} conflicts, no status lost"
    ))
}

/// Changes the spec and a status field of each object again and again; returns how often.
async fn storm_of_writes(
    world: &World,
    namespace: &str,
    count: usize,
    long: Duration,
) -> anyhow::Result<usize> {
    let api = world.sailors(namespace);
    let change = async |number: usize, round: &str| {
        let (name, params) = (format!("s{number}"), PatchParams::default());
        let spec = Patch::Merge(json!({"spec": {"text": round}}));
        api.patch(&name, &params, &spec).await?;
        let status = Patch::Merge(json!({"status": {"other": round}}));
        api.patch_status(&name, &params, &status).await?;
        anyhow::Ok(2)
    };
    let (mut written, ends) = (0, now() + long);
    for round in 0.. {
        let last = now() > ends;
        let text = if last {
            "last".to_owned()
        } else {
            format!("round {round}")
        };
        let changes = stream::iter(0..count).map(|number| change(number, &text));
        let changes: Vec<_> = changes.buffer_unordered(8).collect().await;
        for change in changes {
            written += change?;
        }
        if last {
            break;
        }
    }
    Ok(written)
}

/// The writes of the replicas, except leases, once they have written nothing for this long.
async fn quiet(world: &World, namespace: &str, long: Duration) -> anyhow::Result<()> {
    timeout(LONG, async {
        loop {
            let mark = world.plane.audit.mark();
            sleep(long).await;
            if writes(world, namespace, mark)?.is_empty() {
                return Ok(());
            }
        }
    })
    .await?
}

fn writes(world: &World, namespace: &str, mark: u64) -> anyhow::Result<Vec<Answered>> {
    let mut requests = world.plane.audit.since(mark, namespace)?;
    requests.retain(|request| request.writes() && request.resource != "leases");
    Ok(requests)
}

pub async fn an_idle_operator_writes_only_the_lease(world: &mut World) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let count = world.either(100, 1000);
    world.make(&namespace, count, quick).await?;
    let replica = Replica::start(
        &world.plane,
        "a",
        &Setup::new(&namespace, &["--leader-elect"]),
    )
    .await?;
    world.converged(&namespace, MANY, |_| true).await?;
    quiet(world, &namespace, Duration::from_secs(2)).await?;

    let (mark, runs) = (world.plane.audit.mark(), replica.runs()?.len());
    let rest = Duration::from_secs(world.either(30, 600));
    sleep(rest).await;
    let all = world.plane.audit.since(mark, &namespace)?;
    let leases = all
        .iter()
        .filter(|it| it.resource == "leases" && it.writes())
        .count();
    let writes = writes(world, &namespace, mark)?;
    anyhow::ensure!(writes.is_empty(), "{writes:?}");
    anyhow::ensure!(replica.runs()?.len() == runs, "something was reconciled");
    anyhow::ensure!(leases > 0, "not even the lease");
    Ok(format!(
        "{rest:?} with {count} objects: {leases} renewals and {} other requests, none of them a write",
        all.len() - leases,
    ))
}

pub async fn manual_edits_are_reverted_once(world: &mut World) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    world.make(&namespace, 10, quick).await?;
    let _replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    world.converged(&namespace, LONG, |_| true).await?;
    quiet(world, &namespace, Duration::from_secs(1)).await?;

    let mark = world.plane.audit.mark();
    let params = PatchParams::default();
    let children: Api<ConfigMap> = Api::namespaced(world.plane.client.clone(), &namespace);
    let edit = Patch::Merge(json!({"data": {"text": "edited"}}));
    children.patch("s3", &params, &edit).await?;
    let edit = Patch::Merge(json!({"status": {"text": "edited", "other": "kept"}}));
    world
        .sailors(&namespace)
        .patch_status("s4", &params, &edit)
        .await?;
    children.delete("s5", &DeleteParams::default()).await?;

    eventually(LONG, "all is right again", async || {
        let text = |child: &ConfigMap| child.data.as_ref()?.get("text").cloned();
        let (edited, deleted) = (children.get("s3").await?, children.get_opt("s5").await?);
        let right = [Some(&edited), deleted.as_ref()].map(|child| child.and_then(text));
        let sailor = world.sailors(&namespace).get("s4").await?;
        let right = right.iter().all(|text| text.as_deref() == Some("first")) && is_done(&sailor);
        Ok(right.then_some(()))
    })
    .await?;
    quiet(world, &namespace, Duration::from_secs(3)).await?;
    let sailor = world.sailors(&namespace).get("s4").await?;
    let other = sailor.status.and_then(|status| status.other);
    anyhow::ensure!(
        other.as_deref() == Some("kept"),
        "what is not ours was changed"
    );
    let mut writes: Vec<_> = writes(world, &namespace, mark)?
        .iter()
        .map(|it| format!("{} {}/{}/{}", it.verb, it.resource, it.name, it.subresource))
        .collect();
    writes.sort();
    let wanted = [
        "patch configmaps/s3/",
        "patch configmaps/s5/",
        "patch sailors/s4/status",
    ];
    anyhow::ensure!(writes == wanted, "{writes:#?}");
    Ok("a child edited, one deleted, a status edited: one write each".to_owned())
}

pub async fn no_child_change_is_lost_between_read_and_apply(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let count = 200;
    world.make(&namespace, count, quick).await?;
    let setup = Setup::new(&namespace, &[]);
    let first = Replica::start(&world.plane, "a", &setup).await?;
    world.converged(&namespace, MANY, |_| true).await?;
    drop(first);

    let contested = |number| SailorSpec {
        contested: true,
        ..quick(number)
    };
    world.change(&namespace, count, contested).await?;
    // It has applied nothing yet, so it applies each child again, which changes nothing.
    let replica = Replica::start(&world.plane, "b", &setup).await?;
    world.converged(&namespace, MANY, |_| true).await?;
    quiet(world, &namespace, Duration::from_secs(3)).await?;
    let sailors = world
        .sailors(&namespace)
        .list(&ListParams::default())
        .await?;
    let lost = sailors.iter().filter(|sailor| {
        let seen = sailor.status.as_ref().and_then(|it| it.seen.as_deref());
        seen != Some("theirs")
    });
    let (lost, runs) = (lost.count(), replica.runs()?.len());
    anyhow::ensure!(lost == 0, "{lost} of {count} changes were never seen");
    Ok(format!("{count} changes in {runs} reconciles, none lost"))
}
