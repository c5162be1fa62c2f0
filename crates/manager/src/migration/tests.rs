//! Test storage migrations on the fake API server, with faults. Time is simulated.

mod delegated;
mod faults;
mod progress;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{Request, Response, Uri};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kbr_testing::{Content, FakeApi};
use kube::{
    CustomResource,
    client::{Body, ClientBuilder},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{run::Migration, settings::StorageMigration};
use crate::{connect::Clients, harness, leader::fence::Fence, metrics::Metrics};

const ID: &str = "test.example.com";
const CRD: &str = "captains.crew.example.com";

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v2",
    kind = "Captain",
    namespaced
)]
struct CaptainSpec {
    ship: String,
}

/// A response instead of that of the API server, for `METHOD /path?query` and the number of earlier requests with the
/// same method and path.
type Fault = Arc<dyn Fn(&str, usize) -> Option<(u16, Value)> + Send + Sync>;

/// The fake API server, with faults. A rewritten object gets a new resource version, as if it had been stored in an
/// old version.
#[derive(Clone)]
struct Faulty {
    api: FakeApi,
    fault: Fault,
    seen: Arc<Mutex<Vec<(String, Instant)>>>,
}

impl Service<Request<Body>> for Faulty {
    type Response = Response<Content>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Content>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let line = format!("{} {}", request.method(), request.uri());
        let same = line.split('?').next().unwrap_or_default();
        let mut seen = self.seen.lock().unwrap();
        let before = seen.iter().filter(|(it, _)| it.starts_with(same)).count();
        seen.push((line.clone(), Instant::now()));
        drop(seen);
        if let Some((code, body)) = (self.fault)(&line, before) {
            let response = Response::builder().status(code);
            return Box::pin(async move { Ok(response.body(Content::from(&body)).unwrap()) });
        }
        if is_rewrite(&line) {
            let change = json!({"metadata": {"annotations": {"stored": before.to_string()}}});
            *request.body_mut() = Body::from(change.to_string().into_bytes());
        }
        self.api.connection().call(request)
    }
}

fn is_rewrite(line: &str) -> bool {
    line.starts_with("PATCH ") && line.contains("/captains/")
}

/// An error response of the API server.
fn status(code: u16, message: &str) -> (u16, Value) {
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": message,
    });
    (code, body)
}

/// A cluster whose objects are stored in v1, while the CRD stores v2.
struct Harness {
    server: Faulty,
    fence: Fence,
    metrics: Metrics,
    running: Option<(CancellationToken, tokio::task::JoinHandle<()>)>,
}

impl Harness {
    fn new(
        objects: usize,
        fault: impl Fn(&str, usize) -> Option<(u16, Value)> + Send + Sync + 'static,
    ) -> Self {
        let api = FakeApi::new();
        api.put(&crd(1, &["v1", "v2"]));
        for number in 0..objects {
            api.put(&captain(&format!("c{number:04}")));
        }
        let fence = Fence::closed();
        fence.open();
        Self {
            server: Faulty {
                api,
                fault: Arc::new(fault),
                seen: Arc::default(),
            },
            fence,
            metrics: Metrics::new(),
            running: None,
        }
    }

    /// A cluster without faults.
    fn healthy(objects: usize) -> Self {
        Self::new(objects, |_, _| None)
    }

    /// Starts the migration by the operator, at 10 objects a second.
    fn start(&mut self) {
        self.start_with(|settings| {
            settings.rate(10);
        });
    }

    fn start_with(&mut self, set: impl FnOnce(&mut StorageMigration)) {
        let mut manager = harness::on(&self.server.api);
        let settings = manager.migrate_storage::<Captain>();
        set(settings);
        let settings = settings.clone();
        let count = Metrics::new().requests().to(&Uri::from_static("http://a"));
        let server = self.server.clone();
        let connections = || Ok::<_, Infallible>(ClientBuilder::new(server.clone(), "default"));
        let Ok(clients) = Clients::with(connections, &self.fence, &count);
        let metrics = self.metrics.migration(&settings.kind());
        let migration = Migration::new(settings, clients.leading, ID, metrics);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move { migration.run(stopped).await.unwrap() });
        self.running = Some((stop, task));
    }

    /// Ends the process.
    async fn kill(&mut self) {
        let (stop, task) = self.running.take().unwrap();
        stop.cancel();
        task.await.unwrap();
    }

    /// Waits for a state of the cluster, for up to a simulated day.
    async fn until(&self, what: &str, state: impl Fn(&Self) -> bool) {
        let look = async {
            while !state(self) {
                sleep(Duration::from_millis(100)).await;
            }
        };
        let day = Duration::from_secs(24 * 60 * 60);
        let reached = timeout(day, look).await;
        assert!(reached.is_ok(), "{what}: {:#?}", self.lines());
    }

    async fn until_done(&self) {
        self.until("only v2 is stored", |it| it.stored() == ["v2"])
            .await;
    }

    fn crd(&self) -> CustomResourceDefinition {
        self.server.api.get("", CRD).unwrap()
    }

    fn stored(&self) -> Vec<String> {
        self.crd()
            .status
            .unwrap()
            .stored_versions
            .unwrap_or_default()
    }

    /// All requests so far, as `METHOD /path?query`.
    fn lines(&self) -> Vec<String> {
        let seen = self.server.seen.lock().unwrap();
        seen.iter().map(|(line, _)| line.clone()).collect()
    }

    fn count(&self, which: impl Fn(&str) -> bool) -> usize {
        self.lines().iter().filter(|line| which(line)).count()
    }

    fn rewrites(&self) -> usize {
        self.count(is_rewrite)
    }

    fn metric(&self, line: &str) -> bool {
        self.metrics.text().unwrap().lines().any(|it| it == line)
    }
}

fn captain(name: &str) -> Captain {
    let ship = "Nautilus".to_owned();
    Captain::new(name, CaptainSpec { ship })
}

/// A CRD that stores v2.
fn crd(generation: i64, stored: &[&str]) -> CustomResourceDefinition {
    stores("v2", generation, stored)
}

fn stores(version: &str, generation: i64, stored: &[&str]) -> CustomResourceDefinition {
    let one = |name: &str| json!({"name": name, "served": true, "storage": name == version});
    serde_json::from_value(json!({
        "metadata": {"name": CRD, "generation": generation},
        "spec": {
            "group": "crew.example.com", "scope": "Namespaced",
            "names": {"kind": "Captain", "plural": "captains"},
            "versions": [one("v1"), one("v2")],
        },
        "status": {
            "storedVersions": stored,
            "conditions": [{"type": "Established", "status": "True"}],
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn all_objects_are_rewritten_and_the_old_version_is_removed() {
    let mut cluster = Harness::healthy(450);
    let began = Instant::now();
    cluster.start();
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 450);
    assert!(
        began.elapsed() >= Duration::from_secs(60 + 44),
        "{:?}",
        began.elapsed()
    );
    let conditions = cluster.crd().status.unwrap().conditions.unwrap();
    let types: Vec<_> = conditions.iter().map(|it| it.type_.as_str()).collect();
    assert_eq!(types, ["Established", "test.example.com/storage-migration"]);
    let message = conditions[1].message.as_deref();
    assert_eq!(message, Some("all objects are stored in v2"));
    let metric = r#"manager_storage_migration_objects_total{kind="Captain.crew.example.com",result="rewritten"} 450"#;
    assert!(cluster.metric(metric));
    let metric = r#"manager_storage_migration_pending{kind="Captain.crew.example.com"} 0"#;
    assert!(cluster.metric(metric));
}

#[tokio::test(start_paused = true)]
async fn objects_are_never_rewritten_faster_than_the_rate() {
    let mut cluster = Harness::healthy(100);
    cluster.start();
    cluster.until_done().await;
    let seen = cluster.server.seen.lock().unwrap();
    let times = seen.iter().filter(|(line, _)| is_rewrite(line));
    let times: Vec<_> = times.map(|(_, at)| *at).collect();
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(100), "{gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_before_the_grace_period_and_without_an_old_version() {
    let mut cluster = Harness::healthy(3);
    cluster.start();
    sleep(Duration::from_secs(59)).await;
    assert_eq!(cluster.count(|line| !line.starts_with("GET ")), 0);
    cluster.until_done().await;
    let lines = cluster.lines().len();
    sleep(Duration::from_secs(60 * 60)).await;
    let later = cluster.lines().split_off(lines);
    assert!(later.len() > 50, "it notices the next change");
    assert!(
        later.iter().all(|line| line.starts_with("GET ")),
        "{later:#?}"
    );
}
