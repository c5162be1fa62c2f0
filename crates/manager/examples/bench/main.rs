//! Measures an operator of `Foo` from its start; `tests/bench/operator` runs it against a real API server.
//!
//! It creates the objects, starts the operator, changes one while the others are queued, waits until all are ready,
//! changes each once, and waits again. Then it starts the operator again, and waits until its caches are filled. With
//! `--failover`, it kills the leader instead once all are ready, and measures how long the replica that stands by needs
//! for a change after it has won the lease. With `--hanging`, it queues the objects behind ten that hang instead, and
//! changes one of another namespace. CPU and memory are measured for the operator's process, from /proc. Requests are
//! counted by the API server.

mod failover;
mod hanging;
mod objects;
mod operator;
mod requests;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Parser;
use kube::{
    Api, Client,
    api::{ApiResource, GroupVersionKind},
};
use tokio::time::sleep;

use crate::{
    failover::failover,
    hanging::hanging,
    objects::{Ready, change, change_last, create, name},
    operator::Operator,
    requests::{print_requests, requests},
};

/// Measures an operator of `Foo`
#[derive(Debug, Parser)]
struct Cli {
    /// How many objects there are when the operator starts
    #[arg(long)]
    objects: usize,
    /// How many seconds it is watched while nothing changes
    #[arg(long, default_value_t = 20)]
    idle: u64,
    /// Starts two replicas, which must elect a leader, and kills the leader
    #[arg(long)]
    failover: bool,
    /// Queues the objects behind ten that hang, and changes objects of another namespace
    #[arg(long)]
    hanging: bool,
    /// Where its log goes
    #[arg(long)]
    log: PathBuf,
    /// The operator and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let client = Client::try_default().await?;
    let kind = GroupVersionKind::gvk("samplecontroller.example.com", "v1alpha1", "Foo");
    let kind = ApiResource::from_gvk(&kind);
    if cli.hanging {
        return hanging(&cli, client, &kind).await;
    }
    let foos = Api::default_namespaced_with(client.clone(), &kind);
    create(&foos, (0..cli.objects).map(name)).await?;

    let mut ready = Ready::new(foos.clone());
    ready.listed().await?;
    let before = requests(&client).await?;
    let operator = Operator::start(&cli)?;
    if cli.failover {
        ready.wait(cli.objects, 1).await?;
        return failover(&cli, client, &foos, operator).await;
    }
    let ((first, all), changed) =
        tokio::try_join!(ready.wait(cli.objects, 1), change_last(&foos, cli.objects))?;
    operator.settle().await?;
    if cli.objects > 0 {
        row(
            "changed while the others are queued: ready",
            &format!("{changed:.2} s after the change"),
        );
        row("first ready", &format!("{first:.2} s after the start"));
        row("all ready", &format!("{all:.1} s after the start"));
        row(
            "CPU until all was done",
            &format!("{:.2} s", operator.cpu()?),
        );
    }
    row("memory, peak", &operator.memory("VmHWM")?);
    row("memory, now", &operator.memory("VmRSS")?);
    row("memory, now, of its own", &operator.memory("RssAnon")?);
    row("memory, now, of its file", &operator.memory("RssFile")?);
    print_requests(&before, &requests(&client).await?, cli.objects);

    if cli.objects > 0 {
        let (before, cpu) = (requests(&client).await?, operator.cpu()?);
        let started = Instant::now();
        ready.forget();
        tokio::try_join!(change(&foos, cli.objects), ready.wait(cli.objects, 2))?;
        let all = started.elapsed();
        operator.settle().await?;
        row(
            "each changed once: all ready",
            &format!("{:.1} s", all.as_secs_f64()),
        );
        row(
            "each changed once: CPU",
            &format!("{:.2} s", operator.cpu()? - cpu),
        );
        row(
            "each changed once: memory, peak",
            &operator.memory("VmHWM")?,
        );
        let mut before = before;
        // These were sent by this program.
        *before.entry("foos PATCH".to_owned()).or_default() += cli.objects;
        print_requests(&before, &requests(&client).await?, cli.objects);
    }

    let cpu = operator.cpu()?;
    sleep(Duration::from_secs(cli.idle)).await;
    let share = (operator.cpu()? - cpu) / Duration::from_secs(cli.idle).as_secs_f64();
    row("idle: CPU", &format!("{:.2} % of a core", share * 100.0));
    row("idle: memory", &operator.memory("VmRSS")?);
    drop(operator);
    started_again(&cli).await
}

/// Measures how an operator whose objects need nothing fills its caches.
async fn started_again(cli: &Cli) -> anyhow::Result<()> {
    let started = Instant::now();
    let operator = Operator::start(cli)?;
    // controller-runtime writes the first letter in upper case.
    while !fs::read_to_string(&cli.log)?.contains("tarting workers") {
        // Fails once the operator has ended.
        operator.cpu()?;
        sleep(Duration::from_millis(2)).await;
    }
    let filled = started.elapsed().as_secs_f64();
    let (cpu, peak) = (operator.cpu()?, operator.memory("VmHWM")?);
    row(
        "started again: caches filled",
        &format!("{filled:.2} s after the start, {cpu:.2} s of CPU"),
    );
    row("started again: memory until then, peak", &peak);
    Ok(())
}

fn row(what: &str, value: &str) {
    println!("{what:<58} {value}");
}
