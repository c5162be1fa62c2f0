//! Measures an operator of `Foo` from its start; `tests/bench/operator` runs it against a real API server.
//!
//! It creates the objects, starts the operator, changes one while the others are queued, waits until all are ready,
//! changes each once, and waits again. Then it starts the operator again, and waits until its caches are filled. With
//! `--failover`, it kills the leader instead once all are ready, and measures how long the replica that stands by needs
//! for a change after it has won the lease. CPU and memory are measured for the operator's process, from /proc. Requests
//! are counted by the API server.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Parser;
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    },
    runtime::{
        WatchStreamExt,
        wait::await_condition,
        watcher::{self, watcher},
    },
};
use serde_json::{Value, json};
use tokio::time::sleep;

/// How many of its own requests are in flight at once.
const AT_ONCE: usize = 16;

/// How often it reads the Lease.
const POLL: Duration = Duration::from_millis(5);

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
    let foos = Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind));
    create(&foos, cli.objects).await?;

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
    while !fs::read_to_string(&cli.log)?.contains("starting workers") {
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

async fn create(foos: &Api<DynamicObject>, objects: usize) -> anyhow::Result<()> {
    let create = |i: usize| async move {
        let object = json!({
            "apiVersion": "samplecontroller.example.com/v1alpha1",
            "kind": "Foo",
            "metadata": {"name": name(i)},
            "spec": {"deploymentName": name(i), "replicas": 1},
        });
        foos.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        anyhow::Ok(())
    };
    let all = stream::iter(0..objects).map(create);
    all.buffer_unordered(AT_ONCE).try_collect().await
}

async fn change(foos: &Api<DynamicObject>, objects: usize) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"spec": {"replicas": 2}}));
    let change = |i: usize| {
        let patch = &patch;
        async move {
            foos.patch(&name(i), &PatchParams::default(), patch).await?;
            anyhow::Ok(())
        }
    };
    let all = stream::iter(0..objects).map(change);
    all.buffer_unordered(AT_ONCE).try_collect().await
}

/// Changes the last object once the first is ready, and returns the seconds until it is ready.
async fn change_last(foos: &Api<DynamicObject>, objects: usize) -> anyhow::Result<f64> {
    let Some(last) = objects.checked_sub(1) else {
        return Ok(0.0);
    };
    ready(foos, &name(0), 1).await?;
    change_one(foos, &name(last), 3).await
}

/// Changes an object, and returns the seconds until it is ready.
async fn change_one(foos: &Api<DynamicObject>, name: &str, replicas: usize) -> anyhow::Result<f64> {
    let started = Instant::now();
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let changed = foos.patch(name, &PatchParams::default(), &patch).await?;
    ready(foos, name, changed.metadata.generation.unwrap_or_default()).await?;
    Ok(started.elapsed().as_secs_f64())
}

/// Waits until an object is ready in this generation.
async fn ready(foos: &Api<DynamicObject>, name: &str, generation: i64) -> anyhow::Result<()> {
    let ready = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| is_ready(&object.data, generation))
    };
    await_condition(foos.clone(), name, ready).await?;
    Ok(())
}

/// Kills the leader, and measures how long the other replica takes.
async fn failover(
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

fn name(i: usize) -> String {
    format!("foo-{i:05}")
}

/// Watches the objects become ready.
struct Ready {
    events: BoxStream<'static, watcher::Result<watcher::Event<DynamicObject>>>,
    ready: HashSet<String>,
}

impl Ready {
    fn new(foos: Api<DynamicObject>) -> Self {
        let events = watcher(foos, watcher::Config::default());
        Self {
            events: events.default_backoff().boxed(),
            ready: HashSet::new(),
        }
    }

    async fn listed(&mut self) -> anyhow::Result<()> {
        while let Some(event) = self.events.next().await {
            if matches!(event?, watcher::Event::InitDone) {
                break;
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.ready.clear();
    }

    /// Waits until all objects are ready in this generation; returns the seconds to the first and to the last.
    async fn wait(&mut self, objects: usize, generation: i64) -> anyhow::Result<(f64, f64)> {
        let (started, mut first) = (Instant::now(), 0.0);
        while self.ready.len() < objects {
            let event = self.events.next().await.context("the watch ended")??;
            if let watcher::Event::Apply(object) = event
                && is_ready(&object.data, generation)
            {
                if self.ready.is_empty() {
                    first = started.elapsed().as_secs_f64();
                }
                self.ready.insert(object.name_any());
            }
        }
        Ok((first, started.elapsed().as_secs_f64()))
    }
}

fn is_ready(object: &Value, generation: i64) -> bool {
    let status = &object["status"];
    let conditions = status["conditions"].as_array();
    let ready = conditions.into_iter().flatten();
    let mut ready = ready.filter(|condition| condition["type"] == "Ready");
    status["observedGeneration"].as_i64() >= Some(generation)
        && ready.any(|condition| condition["status"] == "True")
}

/// The operator as a process, which is killed on drop.
struct Operator(Child);

impl Operator {
    fn start(cli: &Cli) -> anyhow::Result<Self> {
        let log = fs::File::create(&cli.log)?;
        let mut command = Command::new(&cli.command[0]);
        command.args(&cli.command[1..]);
        command.stdout(log.try_clone()?).stderr(log);
        Ok(Self(command.spawn().context(cli.command[0].clone())?))
    }

    /// Waits until it has been idle for two seconds: events are published after the status.
    async fn settle(&self) -> anyhow::Result<()> {
        let mut last = f64::NEG_INFINITY;
        while self.cpu()? - last > 0.02 {
            last = self.cpu()?;
            sleep(Duration::from_secs(2)).await;
        }
        Ok(())
    }

    /// CPU seconds so far, user and system.
    fn cpu(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        ensure!(fields[0] != "Z", "the operator ended, see its log");
        // The unit is a hundredth of a second on every Linux that Rust supports.
        let ticks = fields[11].parse::<u32>()? + fields[12].parse::<u32>()?;
        Ok(f64::from(ticks) / 100.0)
    }

    fn memory(&self, field: &str) -> anyhow::Result<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines
            .find(|(name, _)| *name == field)
            .context("no such field")?;
        let kib: f64 = value.trim().trim_end_matches(" kB").parse()?;
        Ok(format!("{:.1} MB", kib * 1024.0 / 1e6))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many requests of each kind the API server has served.
async fn requests(client: &Client) -> anyhow::Result<BTreeMap<String, usize>> {
    let request = hyper::Request::get("/metrics").body(Vec::new())?;
    let metrics = client.request_text(request).await?;
    let mut requests = BTreeMap::new();
    for line in metrics.lines() {
        let Some((labels, count)) = line
            .strip_prefix("apiserver_request_total{")
            .and_then(|line| line.rsplit_once("} "))
        else {
            continue;
        };
        let label = |name: &str| {
            let value = labels
                .split_once(&format!(",{name}=\""))
                .unwrap_or_default()
                .1;
            value.split_once('"').unwrap_or_default().0
        };
        let resource = label("resource");
        if !["foos", "deployments", "events", "leases"].contains(&resource) {
            continue;
        }
        let what = match label("subresource") {
            "" => format!("{resource} {}", label("verb")),
            sub => format!("{resource}/{sub} {}", label("verb")),
        };
        *requests.entry(what).or_default() += count.parse::<usize>()?;
    }
    Ok(requests)
}

fn print_requests(
    before: &BTreeMap<String, usize>,
    after: &BTreeMap<String, usize>,
    objects: usize,
) {
    let mut all = 0;
    let mut each = Vec::new();
    for (what, count) in after {
        let count = count.saturating_sub(before.get(what).copied().unwrap_or_default());
        if count > 0 {
            each.push(format!("{count} {what}"));
            all += count;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "they are no more than millions")]
    let share = all as f64 / objects.max(1) as f64;
    row(
        "requests an object",
        &format!("{share:.2} ({})", each.join(", ")),
    );
}
