//! Test `kbr_testing::Cluster` as used in an integration test of a project. Operator and test are this test binary, called
//! with `lodges` and with `cluster-test`.

use std::{
    fs,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use anyhow::{Context as _, ensure};
use kbr_testing::{Cluster, eventually};
use serde_json::{Value, json};

use super::lodges::{FIELDS, write_project};
use crate::{http, kbr::kbr, replica::LONG, world::World};

/// How many operators are started, one after the other or at the same time.
const ROUNDS: usize = 6;

pub async fn an_operator_under_test_is_called_as_soon_as_it_starts(
    world: &mut World,
) -> anyhow::Result<String> {
    run(world, "each", ROUNDS).await?;
    Ok(format!(
        "{ROUNDS} operators one after the other, 3 at a time"
    ))
}

pub async fn no_call_fails_while_tests_start_and_end_their_operators(
    world: &mut World,
) -> anyhow::Result<String> {
    let rounds = world.either(4, 50);
    let calls = run(world, "beside", rounds).await?;
    Ok(format!("{rounds} rounds, {} calls", calls.trim()))
}

pub async fn tests_that_share_a_cluster_scoped_kind_take_turns_and_begin_with_none_of_its_objects(
    world: &mut World,
) -> anyhow::Result<String> {
    run(world, "turns", ROUNDS).await?;
    Ok(format!("{ROUNDS} tests, 3 at a time"))
}

/// Runs a test below `kbr envtest run`; returns what it prints.
async fn run(world: &World, test: &str, rounds: usize) -> anyhow::Result<String> {
    let project = world.plane.folder.join(format!("lodges-{test}"));
    write_project(&project)?;
    let mut kbr = Command::new(kbr());
    kbr.args(["envtest", "run", "--"])
        .arg(std::env::current_exe()?)
        .args(["cluster-test", test, &rounds.to_string()])
        .current_dir(&project)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || kbr.output()).await??;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}\n{errors}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The test itself, with the arguments after `cluster-test`.
#[tokio::main]
pub async fn test_main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let (test, rounds) = (arguments.next(), arguments.next());
    let rounds = rounds.context("no number of rounds")?.parse()?;
    match test.as_deref() {
        Some("each") => each(rounds).await,
        Some("turns") => turns(rounds).await,
        _ => beside(rounds).await,
    }
}

/// Installs the CRD, and waits until both versions are served.
async fn install(cluster: &Cluster, how: &str) -> anyhow::Result<()> {
    cluster.kubectl(&[how, "--filename", "config/crd/bases"])?;
    for (version, _) in FIELDS {
        let path = format!("/apis/hotel.example.com/{version}");
        eventually(LONG, "the kind is served", async || {
            let served = cluster.kubectl(&["get", "--raw", &path])?;
            Ok(served.contains("\"lodges\"").then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Each request must succeed at once.
async fn each(rounds: usize) -> anyhow::Result<()> {
    for round in 0..rounds {
        let cluster = Cluster::connect().await?;
        install(&cluster, if round == 0 { "create" } else { "replace" }).await?;
        let _operator = cluster.operator("./operator")?;
        called(&cluster).with_context(|| format!("in round {round}"))?;
        if round == 0 {
            handed_over(&cluster).await?;
            ended(&Cluster::connect().await?)?;
        }
    }
    Ok(())
}

/// As `kbr manifests` writes it.
const HARBORS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: harbors.hotel.example.com
spec:
  group: hotel.example.com
  names:
    kind: Harbor
    plural: harbors
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object } }
";

/// Tests that create an object of the same name, and leave it behind with a finalizer.
async fn turns(rounds: usize) -> anyhow::Result<()> {
    let first = Cluster::connect().await?;
    fs::write("config/crd/bases/harbors.yaml", HARBORS)?;
    first.kubectl(&["create", "--filename", "config/crd/bases/harbors.yaml"])?;
    eventually(LONG, "the kind is served", async || {
        let list = ["get", "--raw", "/apis/hotel.example.com/v1/harbors"];
        Ok(first.kubectl(&list).ok())
    })
    .await?;
    let harbor = json!({
        "apiVersion": "hotel.example.com/v1", "kind": "Harbor",
        "metadata": { "name": "the", "finalizers": ["hotel.example.com/kept"] },
    });
    fs::write("harbor.json", harbor.to_string())?;
    thread::scope(|scope| {
        let tests = [(); 3].map(|()| scope.spawn(|| share_a_kind(rounds)));
        let ended = tests.map(|test| test.join().expect("no panic"));
        ended.into_iter().collect()
    })
}

#[tokio::main(flavor = "current_thread")]
async fn share_a_kind(rounds: usize) -> anyhow::Result<()> {
    for _ in 0..rounds {
        let cluster = Cluster::connect().await?;
        cluster.kubectl(&["create", "--filename", "harbor.json"])?;
        // The same test.
        let second = Cluster::connect().await?;
        drop(cluster);
        second.kubectl(&["delete", "--wait=false", "harbor", "the"])?;
        second.close().await?;
    }
    Ok(())
}

/// Prints how many requests were made while the operators of three tests started and ended. None may fail.
async fn beside(rounds: usize) -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    install(&cluster, "create").await?;
    let mut operator = cluster.operator("./operator")?;
    let stored = json!({
        "apiVersion": "hotel.example.com/v2", "kind": "Lodge", "metadata": { "name": "stored" }, "spec": {},
    });
    fs::write("stored.json", stored.to_string())?;
    cluster.kubectl(&["create", "--filename", "stored.json"])?;
    let (over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let callers = [(); 2].map(|()| scope.spawn(|| call_until(&cluster, &over, &calls)));
        let others = [(); 2].map(|()| scope.spawn(|| other_tests(rounds)));
        let replaced = (0..rounds).try_for_each(|_| {
            operator = cluster.operator("./operator")?;
            anyhow::Ok(())
        });
        let others = others.map(|other| other.join().expect("no panic"));
        over.store(true, Ordering::Relaxed);
        let called = callers.map(|caller| caller.join().expect("no panic"));
        replaced?;
        others
            .into_iter()
            .chain(called)
            .collect::<anyhow::Result<()>>()
    })?;
    println!("{}", calls.into_inner());
    Ok(())
}

/// Sends requests that need an operator, and counts them.
#[tokio::main(flavor = "current_thread")]
async fn call_until(
    cluster: &Cluster,
    over: &AtomicBool,
    calls: &AtomicUsize,
) -> anyhow::Result<()> {
    // Not the test's client, which belongs to another runtime.
    let client = kube::Client::try_default().await?;
    let namespace = cluster.namespace();
    while !over.load(Ordering::Relaxed) {
        for (version, field) in FIELDS {
            let path = format!("/apis/hotel.example.com/{version}/namespaces/{namespace}/lodges");
            let list: Value = client
                .request(http::Request::get(&path).body(vec![])?)
                .await?;
            ensure!(list["items"][0]["spec"][field] == 1, "{list}");
            let lodge = json!({
                "apiVersion": format!("hotel.example.com/{version}"), "kind": "Lodge",
                "metadata": { "name": "new" }, "spec": {},
            });
            let create = http::Request::post(format!("{path}?dryRun=All"))
                .header("content-type", "application/json");
            let create = create.body(lodge.to_string().into_bytes())?;
            let created: Value = client.request(create).await?;
            ensure!(created["spec"][field] == 1, "not defaulted: {created}");
            calls.fetch_add(2, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Starts operators in other namespaces, as other tests do.
#[tokio::main(flavor = "current_thread")]
async fn other_tests(rounds: usize) -> anyhow::Result<()> {
    for _ in 0..rounds {
        let cluster = Cluster::connect().await?;
        let _operator = cluster.operator("./operator")?;
        called(&cluster)?;
        cluster.close().await?;
    }
    Ok(())
}

/// Tests share the CRD: when an operator ends, another one converts.
async fn handed_over(first: &Cluster) -> anyhow::Result<()> {
    let (second, third) = (Cluster::connect().await?, Cluster::connect().await?);
    let operator = second.operator("./operator")?;
    called(&second).context("the second of three")?;
    called(first).context("the first beside the second")?;
    let last = third.operator("./operator")?;
    drop(last);
    called(&second).context("the second after the third")?;
    let replica = second.operator("./operator")?;
    called(&second).context("two replicas")?;
    called_during(&second, || drop(replica)).context("while one of them ends")?;
    drop(operator);
    called(first).context("the first after the others")
}

/// Calls the operators of a test until `change` is done.
fn called_during(cluster: &Cluster, change: impl FnOnce()) -> anyhow::Result<()> {
    let changed = AtomicBool::new(false);
    thread::scope(|scope| {
        let calls = scope.spawn(|| {
            while !changed.load(Ordering::Relaxed) {
                called(cluster)?;
            }
            called(cluster)
        });
        change();
        changed.store(true, Ordering::Relaxed);
        calls.join().expect("the calls do not panic")
    })
}

/// A program that ends fails the test at once, not when the time is over.
fn ended(cluster: &Cluster) -> anyhow::Result<()> {
    let Err(error) = cluster.operator("false") else {
        anyhow::bail!("a program that ends at once has served its webhooks");
    };
    let expected = "the operator ended before it served its webhooks";
    ensure!(error.to_string().contains(expected), "{error:#}");
    Ok(())
}

/// Whether the operator converts, defaults and rejects objects in each version.
fn called(cluster: &Cluster) -> anyhow::Result<()> {
    for (version, field) in FIELDS {
        let create = |spec: &Value| {
            let lodge = json!({
                "apiVersion": format!("hotel.example.com/{version}"), "kind": "Lodge",
                "metadata": { "name": "a" }, "spec": spec,
            });
            let file = format!("{}-{version}.json", cluster.namespace());
            fs::write(&file, lodge.to_string())?;
            let dry_run = ["create", "--dry-run=server", "-o", "json", "-f", &file];
            cluster.kubectl(&dry_run)
        };
        let created: Value = serde_json::from_str(&create(&json!({}))?)?;
        ensure!(created["spec"][field] == 1, "not defaulted: {created}");
        match create(&json!({ field: 13 })) {
            Ok(created) => anyhow::bail!("not validated: {created}"),
            Err(error) => ensure!(error.to_string().contains("bad luck"), "{error}"),
        }
    }
    Ok(())
}
