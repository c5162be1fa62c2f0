//! Test caches that are filled in several ways, or not at all, or are behind.

use std::time::Duration;

use k8s_openapi::{
    api::{core::v1::ConfigMap, events::v1::Event},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kbr_testing::eventually;
use kube::{
    Api, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};

use crate::{
    audit::Answered,
    operator::{PARROTS, Parrot, ParrotSpec, Sailor, SailorSpec, now},
    replica::{LONG, Replica, Setup},
    world::World,
};

pub async fn a_leader_whose_crd_is_missing_logs_it_once_and_exits(
    world: &mut World,
) -> anyhow::Result<String> {
    let crds: Api<CustomResourceDefinition> = Api::all(world.plane.client.clone());
    crds.delete(Sailor::crd_name(), &DeleteParams::default())
        .await?;
    let result = without_crd(world).await;
    eventually(LONG, "the CRD is gone", async || {
        Ok(crds
            .get_opt(Sailor::crd_name())
            .await?
            .is_none()
            .then_some(()))
    })
    .await?;
    // Other tests need the CRD.
    world.plane.install().await?;
    result
}

async fn without_crd(world: &mut World) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let sailors = world.sailors(&namespace);
    eventually(
        LONG,
        "the API server no longer serves sailors",
        async || {
            let served = sailors.get_opt("none").await;
            Ok(matches!(served, Err(kube::Error::Api(error)) if error.code == 404).then_some(()))
        },
    )
    .await?;
    let setup = Setup::new(&namespace, &["--cache-sync-timeout=15s"]);
    let mut replica = Replica::start(&world.plane, "a", &setup).await?;
    let cause = "cache-Sailor.crew.example.com ok: not complete; cannot list";
    eventually(LONG, "the cause is shown", async || {
        let ready = replica.probe("/readyz?verbose")?;
        Ok((ready.status == 200 && ready.body.contains(cause)).then_some(()))
    })
    .await?;

    let status = replica.wait(LONG + Duration::from_secs(15)).await?;
    anyhow::ensure!(status.code() == Some(1), "{status}");
    let log = replica.log();
    let warnings = log.matches("cannot watch").count();
    anyhow::ensure!(warnings == 1, "{warnings} warnings\n{log}");
    let ended = log.lines().last().unwrap_or_default();
    let help = "is the CustomResourceDefinition `sailors.crew.example.com` installed";
    anyhow::ensure!(ended.contains(help), "{log}");
    Ok(format!("{} lines of log: {ended}", log.lines().count()))
}

pub async fn an_optional_kind_is_watched_while_its_crd_is_installed(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    world.make(&namespace, 1, |_| SailorSpec::default()).await?;
    let mut setup = Setup::new(&namespace, &[]);
    setup.environment.push((PARROTS.to_owned(), String::new()));
    let mut replica = Replica::start(&world.plane, "a", &setup).await?;
    sees(world, &namespace, "false 0").await?;
    let ready = replica.probe("/readyz?verbose")?;
    let remark = "cache-Parrot.birds.example.com ok: optional, and not installed";
    anyhow::ensure!(
        ready.status == 200 && ready.body.contains(remark),
        "{}",
        ready.body
    );

    let crds: Api<CustomResourceDefinition> = Api::all(world.plane.client.clone());
    let parrots: Api<Parrot> = Api::namespaced(world.plane.client.clone(), &namespace);
    let parrot = Parrot::new("polly", ParrotSpec {});
    for _ in 0..2 {
        crds.create(&PostParams::default(), &Parrot::crd()).await?;
        eventually(LONG, "a parrot is created", async || {
            Ok(parrots.create(&PostParams::default(), &parrot).await.ok())
        })
        .await?;
        sees(world, &namespace, "true 1").await?;
        crds.delete(Parrot::crd_name(), &DeleteParams::default())
            .await?;
        sees(world, &namespace, "false 0").await?;
    }
    anyhow::ensure!(replica.ended()?.is_none(), "{}", replica.tail());
    let log = replica.log();
    let (installed, removed) = (
        log.matches("an optional kind is installed").count(),
        log.matches("an optional kind is not installed").count(),
    );
    anyhow::ensure!((installed, removed) == (2, 3), "{log}");
    let failed = log.lines().filter(|line| line.contains("cannot watch"));
    anyhow::ensure!(failed.count() == 0, "{log}");
    Ok(format!("{} lines of log", log.lines().count()))
}

/// Waits until the sailor has seen this of the parrots: whether they are installed, and how many.
async fn sees(world: &World, namespace: &str, wanted: &str) -> anyhow::Result<()> {
    let sailors = world.sailors(namespace);
    eventually(LONG, wanted, async || {
        let seen = sailors.get("s0").await?.status.and_then(|it| it.seen);
        Ok((seen.as_deref() == Some(wanted)).then_some(()))
    })
    .await
}

pub async fn lists_are_streamed_and_without_that_feature_read_in_pages(
    world: &mut World,
) -> anyhow::Result<String> {
    let streamed = started(world).await?;
    let without = async {
        world.plane.stop_api_server()?;
        let off = "--feature-gates=WatchList=false";
        world.plane.start_api_server_with(&[off]).await?;
        started(world).await
    };
    let paged = without.await;
    world.plane.stop_api_server()?;
    world.plane.start_api_server().await?;
    let paged = paged?;
    for resource in ["sailors", "configmaps"] {
        let lists = |requests: &[Answered]| {
            let here = requests.iter().filter(|it| it.resource == resource);
            // The API server rejects requests with 429 while its own cache is not filled.
            let lists = here.filter(|it| it.user == "a" && it.lists() && it.code != 429);
            let lists = lists.map(|it| format!("{} {}", it.verb, it.code));
            lists.collect::<Vec<_>>()
        };
        let (streamed, paged) = (lists(&streamed), lists(&paged));
        anyhow::ensure!(streamed == ["watch 200"], "{resource}: {streamed:?}");
        anyhow::ensure!(paged == ["watch 422", "list 200"], "{resource}: {paged:?}");
    }
    Ok("one request for each kind; without the feature, one more".to_owned())
}

/// The requests of an operator until its objects have converged.
async fn started(world: &mut World) -> anyhow::Result<Vec<Answered>> {
    let (namespace, mark) = (world.namespace().await?, world.plane.audit.mark());
    let spec = |_| SailorSpec::default();
    world.make(&namespace, 20, spec).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    world.converged(&namespace, LONG, |_| true).await?;
    replica.check_log()?;
    world.plane.audit.since(mark, &namespace)
}

/// How many reconciles must see a child that the watch has not delivered.
const RECONCILES: usize = 20;

pub async fn a_child_is_created_once_while_the_watch_delivers_nothing(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let spec = |_| SailorSpec {
        generates: true,
        every: 50,
        ..SailorSpec::default()
    };
    world.make(&namespace, 1, spec).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    world.converged(&namespace, LONG, |_| true).await?;

    replica.proxy.freeze();
    let maps: Api<ConfigMap> = Api::namespaced(world.plane.client.clone(), &namespace);
    let mut go = ConfigMap::default();
    go.metadata.name = Some("go".to_owned());
    maps.create(&PostParams::default(), &go).await?;
    let generated = async || {
        let maps = maps.list(&ListParams::default()).await?.items;
        let names = maps.iter().map(ResourceExt::name_any);
        anyhow::Ok(names.filter(|name| name.starts_with("generated-")).count())
    };
    // The requests in progress fail after 30 s. The watch counts as dead after 90 s.
    eventually(LONG, "the child is created", async || {
        Ok((generated().await? > 0).then_some(()))
    })
    .await?;
    let created = now();
    eventually(LONG, "more reconciles", async || {
        let runs = replica.runs()?;
        let since = runs.iter().filter(|run| run.begin > created);
        Ok((since.count() >= RECONCILES).then_some(()))
    })
    .await?;
    let count = generated().await?;
    anyhow::ensure!(count == 1, "{count} children were created");
    let events: Api<Event> = Api::namespaced(world.plane.client.clone(), &namespace);
    eventually(LONG, "the event about the child", async || {
        let events = events.list(&ListParams::default()).await?.items;
        let found = events.iter().any(|event| {
            let related = event.related.as_ref().and_then(|it| it.kind.as_deref());
            event.action.as_deref() == Some("Generate") && related == Some("Sailor")
        });
        Ok(found.then_some(()))
    })
    .await?;
    Ok(format!(
        "{RECONCILES} reconciles saw the child before the watch delivered it"
    ))
}
