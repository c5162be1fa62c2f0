//! Tests of the migration of stored objects to a new version.

mod operator;
mod ships;

use std::{
    collections::BTreeMap,
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Context as _;
use k8s_openapi::jiff::Timestamp;
use kbr_testing::eventually;
use kube::{
    Client,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
};
use serde_json::{Value, json};

use self::{
    operator::Operator,
    ships::{CRD, change_versions, crds, fill, install, ship, ships, stored, uninstall, versions},
};
pub use self::{operator::main, ships::stored_as};
use crate::{
    plane::Plane,
    replica::LONG,
    world::{World, random},
};

/// The field of the progress in the CRD.
const CONDITION: &str = "ships.example.com/storage-migration";

/// Writers that change objects in both versions while they are migrated.
struct Writers {
    stop: AtomicBool,
    written: AtomicUsize,
}

impl Writers {
    /// Changes objects until it is stopped, each by a read and a conditional write; returns the last count of each.
    async fn run(
        &self,
        client: &Client,
        names: &[String],
    ) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut last = BTreeMap::new();
        let apis = ["v1", "v2"].map(|version| ships(client, version));
        let mut turn = 0;
        while !self.stop.load(Ordering::SeqCst) {
            let name = &names[turn * 7 % names.len()];
            let api = &apis[turn % 2];
            turn += 1;
            let mut ship = api.get(name).await?;
            let count = ship.data["spec"]["count"].as_u64().unwrap_or_default() + 1;
            ship.data["spec"]["count"] = json!(count);
            match api.replace(name, &PostParams::default(), &ship).await {
                Ok(_) => {
                    let before = last.insert(name.clone(), count).unwrap_or_default();
                    anyhow::ensure!(
                        before + 1 == count,
                        "`{name}` lost a write: {before}, {count}"
                    );
                    self.written.fetch_add(1, Ordering::SeqCst);
                }
                // It was rewritten between the read and the write.
                Err(kube::Error::Api(error)) if error.code == 409 => {}
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(random(Duration::ZERO, Duration::from_millis(20))).await;
        }
        Ok(last)
    }
}

/// The most patches of the operator that arrived within a second, and all of them.
fn rate(plane: &Plane, mark: u64) -> anyhow::Result<(usize, usize)> {
    let text = fs::read(&plane.audit.0)?;
    let text = String::from_utf8_lossy(text.get(usize::try_from(mark)?..).unwrap_or_default());
    let mut times = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        if line["verb"] == "patch" && line["objectRef"]["resource"] == "ships" {
            let at = line["requestReceivedTimestamp"]
                .as_str()
                .context("a time")?;
            times.push(at.parse::<Timestamp>()?.as_microsecond());
        }
    }
    times.sort_unstable();
    let within = |from: usize| {
        let after = times[from..]
            .iter()
            .take_while(|at| **at < times[from] + 1_000_000);
        after.count()
    };
    let most = (0..times.len()).map(within).max().unwrap_or_default();
    Ok((most, times.len()))
}

/// Waits until the CRD lists v2 as the only stored version, and returns it.
async fn migrated(client: &Client) -> anyhow::Result<DynamicObject> {
    eventually(LONG * 10, "only v2 is stored", async || {
        let crd = crds(client).get(CRD).await?;
        let done = crd.data["status"]["storedVersions"] == json!(["v2"]);
        anyhow::ensure!(done, "{}", crd.data["status"]);
        Ok(Some(crd))
    })
    .await
}

pub async fn kube_controller_manager_migrates_the_objects_where_it_can(
    world: &mut World,
) -> anyhow::Result<String> {
    if !world.long {
        // kube-controller-manager takes a minute and a half for any number of objects.
        return Ok("only in the long form".to_owned());
    }
    let (plane, client) = (&world.plane, &world.plane.client);
    install(plane).await?;
    let count = 200;
    let names: Vec<String> = (0..count).map(|number| format!("s{number}")).collect();
    fill(plane, &names).await?;
    let mut controllers = plane.controllers(&["garbage-collector", "storage-version-migrator"])?;
    let mark = plane.audit.mark();
    let operator = Operator::start(plane, &[])?;
    let result = migrated(client).await;
    controllers.kill()?;
    controllers.wait()?;
    drop(operator);
    result?;
    let versions_stored = stored(plane)?;
    anyhow::ensure!(
        versions_stored == [("fleet.example.com/v2".to_owned(), count)].into(),
        "{versions_stored:?}"
    );
    let (_, patches) = rate(plane, mark)?;
    let version = client.apiserver_version().await?;
    let minor: u32 = version.minor.parse()?;
    // Before 1.37 it was off.
    let expected = if minor >= 37 { 0 } else { count };
    anyhow::ensure!(patches == expected, "{patches} patches by the operator");
    uninstall(plane).await?;
    Ok(format!(
        "{count} objects on 1.{minor}, {patches} of them rewritten by the operator"
    ))
}

pub async fn all_objects_are_stored_in_the_new_version_although_the_operator_is_killed(
    world: &mut World,
) -> anyhow::Result<String> {
    let (count, rate_limit, kills) = world.either((400, 100_usize, 1), (5000, 50, 2));
    let (plane, client) = (&world.plane, &world.plane.client);
    install(plane).await?;
    let (old, names) = (
        ships(client, "v1"),
        (0..count).map(|number| format!("s{number}")),
    );
    let names: Vec<String> = names.collect();
    fill(plane, &names).await?;

    let mark = plane.audit.mark();
    let began = std::time::Instant::now();
    let flags = [format!("--rate={rate_limit}")];
    let mut operator = Operator::start(plane, &flags)?;
    let writers = Writers {
        stop: AtomicBool::new(false),
        written: AtomicUsize::new(0),
    };
    // The writers change a tenth of the objects; some others come and go.
    let (changed, others) = names.split_at(count / 10);
    let migrate = async {
        for (kill, gone) in (1..=kills).zip(others) {
            let wanted = count * kill / (kills + 1);
            eventually(LONG * 10, "some objects are rewritten", async || {
                let new = stored(plane)?.get("fleet.example.com/v2").copied();
                Ok((new.unwrap_or_default() >= wanted).then_some(()))
            })
            .await?;
            operator.kill()?;
            old.delete(gone, &DeleteParams::default()).await?;
            old.create(
                &PostParams::default(),
                &ship("v1", &format!("late{kill}"), 1),
            )
            .await?;
            operator = Operator::start(plane, &flags)?;
        }
        let trimmed = migrated(client).await;
        writers.stop.store(true, Ordering::SeqCst);
        trimmed
    };
    let (trimmed, last) = tokio::join!(migrate, writers.run(client, changed));
    let (crd, last) = (trimmed?, last?);
    let took = began.elapsed();
    drop(operator);

    let conditions = crd.data["status"]["conditions"].as_array().cloned();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|it| it["type"] == CONDITION);
    anyhow::ensure!(
        condition.as_ref().is_some_and(|it| it["status"] == "False"),
        "{condition:?}"
    );
    let versions_stored = stored(plane)?;
    anyhow::ensure!(
        versions_stored == [("fleet.example.com/v2".to_owned(), count)].into(),
        "{versions_stored:?}"
    );
    // The API server can read none that is stored in a version without a definition.
    change_versions(client, versions(&["v2"], "v2")).await?;
    let all = ships(client, "v2").list(&ListParams::default()).await?;
    anyhow::ensure!(all.items.len() == count, "{} objects", all.items.len());
    for ship in &all {
        let name = ship.metadata.name.as_deref().unwrap_or_default();
        let expected =
            last.get(name).copied().unwrap_or_default() + u64::from(name.starts_with("late"));
        let found = &ship.data["spec"]["count"];
        anyhow::ensure!(*found == expected, "`{name}`: {found}, not {expected}");
    }
    let (most, patches) = rate(plane, mark)?;
    anyhow::ensure!(most <= rate_limit, "{most} in a second");
    // Those of others come between the list of a page and its patches. With a record of its progress, which it makes
    // every 30 s at the end of a page, a restart repeats what was done since.
    let recorded = world.either(0, rate_limit * 35);
    let allowed = count + count / 10 + kills * (recorded + 2);
    anyhow::ensure!(
        patches <= allowed,
        "{patches} patches, not {allowed}: it started over"
    );
    uninstall(plane).await?;
    Ok(format!(
        "{count} objects in {took:.0?}, the operator killed {kills} times: {patches} patches, at most {most} in a second (limit {rate_limit}), {} writes by others, none lost",
        writers.written.load(Ordering::SeqCst)
    ))
}
