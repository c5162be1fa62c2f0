//! Test the migration of stored objects to a new version. The operator is this test binary, called with `storage`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Context as _;
use clap::Parser;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, Client, CustomResource,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use manager::{Manager, Options, testing::eventually};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    plane::Plane,
    replica::LONG,
    world::{World, random},
};

const NAMESPACE: &str = "fleet";
const CRD: &str = "ships.fleet.example.com";

/// The field of the progress in the CRD.
const CONDITION: &str = "ships.example.com/storage-migration";

/// The stored kind, in its new version. The API server converts it without a webhook.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "fleet.example.com", version = "v2", kind = "Ship", namespaced)]
pub struct ShipSpec {
    /// How often a writer has changed it.
    #[serde(default)]
    pub count: u64,
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
    /// How many objects to rewrite in a second; if not given, kube-controller-manager may do it.
    #[arg(long)]
    rate: Option<u32>,
}

/// Runs the operator, with the arguments after `storage`.
#[tokio::main]
pub async fn main() -> ExitCode {
    let cli = Cli::parse_from(std::env::args().skip(1));
    manager::exit(run(cli).await)
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    let mut manager = Manager::new(cli.manager, "ships.example.com").await?;
    let migration = manager.migrate_storage::<Ship>();
    migration.grace(Duration::from_secs(1));
    if let Some(rate) = cli.rate {
        migration.rate(rate);
    }
    manager.run().await
}

/// A process of the operator; killed when dropped.
struct Operator(Child);

impl Operator {
    /// Starts it as the user `ships`, with the permissions that the library documents and those of the election.
    fn start(plane: &Plane, flags: &[String]) -> anyhow::Result<Self> {
        let kubeconfig = plane.kubeconfig("a", plane.port)?;
        let mut config: Value = serde_json::from_slice(&fs::read(kubeconfig)?)?;
        config["users"][0]["user"]["as"] = json!("ships");
        let path = plane.folder.join("ships.json");
        fs::write(&path, config.to_string())?;
        let log = plane.folder.join("ships.log");
        let log = File::options().create(true).append(true).open(log)?;
        let child = Command::new(std::env::current_exe()?)
            .args(["storage", "--leader-elect", "--log-format=json"])
            .arg("--kubeconfig")
            .arg(path)
            .args(flags)
            .arg(format!("--leader-election-namespace={NAMESPACE}"))
            .args(
                [
                    "lease-duration=4s",
                    "renew-deadline=2500ms",
                    "retry-period=500ms",
                ]
                .map(|time| format!("--leader-election-{time}")),
            )
            .arg("--health-probe-bind-address=0")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self(child))
    }

    /// Ends it like `kill -9`.
    fn kill(&mut self) -> anyhow::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn resource(version: &str) -> ApiResource {
    ApiResource {
        version: version.to_owned(),
        api_version: format!("fleet.example.com/{version}"),
        ..ApiResource::erase::<Ship>(&())
    }
}

fn ships(client: &Client, version: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), NAMESPACE, &resource(version))
}

fn crds(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    };
    Api::all_with(client.clone(), &resource)
}

/// The versions of the CRD, of which `stored` is the one to store.
fn versions(names: &[&str], stored: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"count": {"type": "integer"}},
    }}}});
    let version = |name: &&str| json!({"name": name, "served": true, "storage": *name == stored, "schema": schema});
    names.iter().map(version).collect()
}

async fn change_versions(client: &Client, versions: Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"spec": {"versions": versions}}));
    crds(client)
        .patch(CRD, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Installs the CRD, which stores v1, and the permissions of the operator.
async fn install(plane: &Plane) -> anyhow::Result<()> {
    // It stays from one test to the next.
    let _ = plane.namespace(NAMESPACE).await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": "fleet.example.com", "scope": "Namespaced",
            "names": {"kind": "Ship", "plural": "ships", "singular": "ship", "listKind": "ShipList"},
            "versions": versions(&["v1", "v2"], "v1"),
        },
    });
    let client = &plane.client;
    crds(client)
        .create(&PostParams::default(), &serde_json::from_value(crd)?)
        .await?;
    let allow = |group: &str, resource: &str, names: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs});
    let extensions = "apiextensions.k8s.io";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "ships"},
        "rules": [
            allow(extensions, "customresourcedefinitions", &[CRD], &["get"]),
            allow(extensions, "customresourcedefinitions/status", &[CRD], &["patch"]),
            allow("fleet.example.com", "ships", &[], &["list", "patch"]),
            allow("storagemigration.k8s.io", "storageversionmigrations", &[], &["create", "get", "delete"]),
            allow("coordination.k8s.io", "leases", &[], &["get", "create", "update", "patch"]),
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "ships"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ships"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ships"}],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
        let request = hyper::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes())?;
        client.request::<Value>(request).await?;
    }
    eventually(LONG, "the API server serves ships", async || {
        Ok(ships(client, "v1").get_opt("nobody").await.map(|_| ()).ok())
    })
    .await
}

/// Removes the CRD with all objects, and the permissions.
async fn uninstall(plane: &Plane) -> anyhow::Result<()> {
    let client = &plane.client;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for path in [
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}"),
        format!("{rbac}/clusterroles/ships"),
        format!("{rbac}/clusterrolebindings/ships"),
    ] {
        let request = hyper::Request::delete(path).body(Vec::new())?;
        client.request::<Value>(request).await?;
    }
    eventually(LONG, "the CRD is gone", async || {
        Ok(crds(client).get_opt(CRD).await?.is_none().then_some(()))
    })
    .await
}

fn ship(version: &str, name: &str, count: u64) -> DynamicObject {
    let mut ship = DynamicObject::new(name, &resource(version));
    ship.data = json!({"spec": {"count": count}});
    ship
}

/// How many objects are stored in each version, as etcd has them.
fn stored(plane: &Plane) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for value in plane.values("/registry/fleet.example.com/ships/")? {
        let object: Value = serde_json::from_slice(&value)?;
        let version = object["apiVersion"].as_str().context("a version")?;
        *found.entry(version.to_owned()).or_default() += 1;
    }
    Ok(found)
}

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

/// Creates objects in v1, and changes the CRD to store v2.
async fn fill(plane: &Plane, names: &[String]) -> anyhow::Result<()> {
    let old = ships(&plane.client, "v1");
    stream::iter(names)
        .map(async |name| {
            old.create(&PostParams::default(), &ship("v1", name, 0))
                .await
        })
        .buffer_unordered(16)
        .try_for_each(async |_| Ok(()))
        .await?;
    anyhow::ensure!(stored(plane)?.get("fleet.example.com/v1") == Some(&names.len()));
    change_versions(&plane.client, versions(&["v1", "v2"], "v2")).await
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
