//! Test a wrong wall clock.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::Api;
use rustix::process::Signal;

use crate::{
    journal::{check_apart, span},
    leading::{SLACK, pair, scene},
    operator::{ID, now},
    proxy::Mode,
    replica::{LONG, Replica, Setup},
    world::World,
};

/// The library of Debian's package `libfaketime`.
fn library() -> anyhow::Result<PathBuf> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib",
    ];
    let mut found = folders
        .map(|folder| PathBuf::from(folder).join("faketime/libfaketime.so.1"))
        .into_iter();
    found
        .find(|path| path.exists())
        .context("there is no libfaketime\nhelp: make libfaketime")
}

/// The same setup with a clock that is an hour ahead or behind.
fn at(setup: &Setup, offset: &str) -> anyhow::Result<Setup> {
    let library = library()?.display().to_string();
    let environment = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", offset),
        // Setting a clock does not change its speed.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Setup {
        environment: environment.into(),
        ..setup.clone()
    })
}

pub async fn a_clock_that_is_an_hour_off_does_not_affect_the_election(
    world: &mut World,
) -> anyhow::Result<String> {
    let (times, mut report) = (world.times(), Vec::new());
    for (of_a, of_b) in [("+1h", "-1h"), ("-1h", "+1h")]
        .into_iter()
        .take(world.either(1, 2))
    {
        let setup = scene(world, times).await?;
        let (mut a, right) = pair(world, &at(&setup, of_a)?).await?;
        drop(right);
        let b = Replica::start(&world.plane, "b", &at(&setup, of_b)?).await?;
        let off = offset(world, &setup).await?;
        anyhow::ensure!(
            off.unsigned_abs() > 3500,
            "the clock is off by {off} s only"
        );
        // It leads as long as it renews the lease.
        let since = now() + times.lease * 2;
        a.reconciles(since, LONG).await?;
        anyhow::ensure!(b.runs()?.is_empty(), "the other did not wait");

        a.proxy.set(Mode::Swallow);
        let cut = now();
        let status = a.wait(LONG).await?;
        anyhow::ensure!(status.code() == Some(1), "{status}\n{}", a.tail());
        let led = b
            .reconciles(Duration::ZERO, LONG)
            .await?
            .saturating_sub(cut);
        let spans = [span(&a.runs()?, now()), span(&b.runs()?, now())];
        check_apart(&spans.into_iter().flatten().collect::<Vec<_>>())?;
        let most = times.lease + times.retry * 2;
        anyhow::ensure!(led <= most + SLACK, "it took {led:?}, {most:?} at most");
        report.push(format!("{off:+} s: the other after {led:.1?}"));
        b.signal(Signal::KILL)?;
    }
    Ok(report.join("; "))
}

/// The offset in seconds of the clock that wrote the lease.
async fn offset(world: &World, setup: &Setup) -> anyhow::Result<i64> {
    let leases: Api<Lease> = Api::namespaced(world.plane.client.clone(), &setup.namespace);
    let renewed = leases.get(ID).await?.spec.and_then(|spec| spec.renew_time);
    let renewed = renewed.context("a lease that was renewed")?.0;
    Ok(renewed.as_second() - Timestamp::now().as_second())
}
