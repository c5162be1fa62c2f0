//! Test an API server that is down, loses its history, or drops watches.

use std::time::Duration;

use kube::api::DeleteParams;
use tokio::time::sleep;

use crate::{
    audit::Answered,
    operator::{SailorSpec, now},
    proxy::Mode,
    replica::{Replica, Setup},
    world::World,
};

/// The time limit for many objects on a busy machine, including their back-off.
const MANY: Duration = Duration::from_secs(300);

fn with_text(text: &str) -> impl Fn(usize) -> SailorSpec {
    let text = text.to_owned();
    move |_| SailorSpec {
        text: text.clone(),
        ..SailorSpec::default()
    }
}

/// Objects without faults, and the replica that reconciles them.
async fn settled(world: &mut World, count: usize) -> anyhow::Result<(String, Replica)> {
    let namespace = world.namespace().await?;
    world.make(&namespace, count, with_text("first")).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    world.converged(&namespace, MANY, |_| true).await?;
    Ok((namespace, replica))
}

pub async fn an_outage_causes_few_retries_and_all_objects_converge_afterwards(
    world: &mut World,
) -> anyhow::Result<String> {
    let (count, away) = world.either((200, 8), (1000, 30));
    let (namespace, mut replica) = settled(world, count).await?;
    // The API server is stopped when it has answered some of the resulting requests.
    world.change(&namespace, count, with_text("second")).await?;
    world.plane.stop_api_server()?;
    let (connections, lines) = (replica.proxy.connections(), replica.log().lines().count());
    sleep(Duration::from_secs(away)).await;
    let tried = replica.proxy.connections() - connections;
    let logged = replica.log().lines().count() - lines;
    let alive = replica.probe("/healthz")?;
    anyhow::ensure!(alive.status == 200, "{}", alive.body);

    world.plane.start_api_server().await?;
    let back = now();
    world.converged(&namespace, MANY, |_| true).await?;
    let after = now().saturating_sub(back);
    anyhow::ensure!(replica.ended()?.is_none(), "{}", replica.tail());
    // Each object waits for 5 ms, then twice as long, and so on. Each attempt writes a child and its status.
    let attempts = (Duration::from_secs(away).as_millis() / 5).ilog2() as usize + 2;
    let most = count * attempts;
    anyhow::ensure!(tried <= 2 * most, "{tried} connections");
    anyhow::ensure!(logged <= most + 100, "{logged} lines");
    Ok(format!(
        "{away} s without an API server, {count} objects: {tried} connections and {logged} log lines; all right {after:.1?} after it was back"
    ))
}

/// How many lists the API server has answered. One that has just started rejects some until it serves the kind.
fn lists(requests: &[Answered], resource: &str) -> usize {
    let lists =
        |it: &&Answered| it.user == "a" && it.lists() && it.resource == resource && it.code == 200;
    requests.iter().filter(lists).count()
}

pub async fn a_watch_relists_after_etcd_was_compacted(world: &mut World) -> anyhow::Result<String> {
    let count = world.either(50, 1000);
    let (namespace, replica) = settled(world, count).await?;
    replica.proxy.set(Mode::Refuse);
    // Objects are changed, deleted and created while nothing watches them.
    world.change(&namespace, count, with_text("second")).await?;
    world
        .sailors(&namespace)
        .delete("s0", &DeleteParams::default())
        .await?;
    world
        .make_named(&namespace, "late", with_text("late")(0))
        .await?;
    world.plane.compact()?;
    // The memory of the API server is lost as well.
    world.plane.stop_api_server()?;
    world.plane.start_api_server().await?;
    let mark = world.plane.audit.mark();
    replica.proxy.set(Mode::Pass);
    world.converged(&namespace, MANY, |_| true).await?;

    let requests = world.plane.audit.since(mark, &namespace)?;
    let gone = requests
        .iter()
        .filter(|it| it.verb == "watch" && it.code == 410)
        .count();
    let told = replica.log().matches("too old resource version").count();
    anyhow::ensure!(
        gone + told > 0,
        "no watch was told 410 Gone\n{}",
        replica.tail()
    );
    let sailors = lists(&requests, "sailors");
    // A page holds 500 objects.
    anyhow::ensure!(sailors <= 2 * (count / 500 + 1), "listed {sailors} times");
    Ok(format!("{count} objects listed anew in {sailors} requests"))
}

pub async fn watches_that_drop_every_second_miss_nothing_and_do_not_relist(
    world: &mut World,
) -> anyhow::Result<String> {
    let count = world.either(50, 1000);
    let (namespace, replica) = settled(world, count).await?;
    let mark = world.plane.audit.mark();
    let seconds = world.either(8, 60);
    for second in 0..seconds {
        replica.proxy.cut();
        world
            .change(&namespace, 10, with_text(&format!("second {second}")))
            .await?;
        sleep(Duration::from_secs(1)).await;
    }
    world.change(&namespace, count, with_text("last")).await?;
    let last = now();
    world.converged(&namespace, MANY, |_| true).await?;
    let after = now().saturating_sub(last);
    let requests = world.plane.audit.since(mark, &namespace)?;
    let watches = requests
        .iter()
        .filter(|it| it.user == "a" && it.verb == "watch")
        .count();
    let lists = lists(&requests, "sailors") + lists(&requests, "configmaps");
    anyhow::ensure!(lists == 0, "listed {lists} times");
    anyhow::ensure!(replica.probe("/healthz")?.status == 200);
    Ok(format!(
        "{seconds} drops: {watches} watches, no list; all right {after:.1?} after the last change"
    ))
}
