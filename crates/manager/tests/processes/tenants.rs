//! Test that the objects of one namespace do not delay those of another.

use std::time::Instant;

use kbr_testing::eventually;

use crate::{
    operator::{Fault, Sailor, SailorSpec},
    replica::{LONG, Replica, Setup},
    world::World,
};

/// The workers of a controller, unless its author sets their number.
const WORKERS: usize = 10;

pub async fn objects_that_hang_in_one_namespace_delay_no_other(
    world: &mut World,
) -> anyhow::Result<String> {
    let (hanging, other) = (world.namespace().await?, world.namespace().await?);
    let others = format!("--watch-namespace={other}");
    let setup = Setup::new(&hanging, &[&others]);
    let replica = Replica::start(&world.plane, "a", &setup).await?;
    let queued = world.either(100, 10_000);
    let sailors = (0..WORKERS + queued).map(hangs);
    world.make_all(&hanging, sailors).await?;
    eventually(LONG, "all workers hang", async || {
        Ok((replica.runs()?.len() == WORKERS).then_some(()))
    })
    .await?;

    let spec = |change: usize| SailorSpec {
        text: format!("change {change}"),
        ..SailorSpec::default()
    };
    world.make(&other, 1, |_| spec(0)).await?;
    world.converged(&other, LONG, |_| true).await?;
    let mut slowest = 0.0_f64;
    for change in 1..=world.either(3, 100) {
        let started = Instant::now();
        world.change(&other, 1, |_| spec(change)).await?;
        world.converged(&other, LONG, |_| true).await?;
        slowest = slowest.max(started.elapsed().as_secs_f64());
    }
    // The workers were held all the time: a reconcile may take five minutes.
    let runs = replica.runs()?;
    let held = runs.iter().filter(|run| run.end.is_none()).count();
    anyhow::ensure!(held == WORKERS, "{held} reconciles hang");
    Ok(format!(
        "beside {held} objects that hang and {queued} queued, the slowest change of another namespace took {slowest:.1} s"
    ))
}

fn hangs(number: usize) -> Sailor {
    let spec = SailorSpec {
        fault: Some(Fault::Hang),
        ..SailorSpec::default()
    };
    Sailor::new(&format!("hangs-{number}"), spec)
}
