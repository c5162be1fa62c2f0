//! Caches whose watches fail, on a fake API server that rejects some of them.

mod behind;
mod leading;
mod optional;
mod streamed;

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Frame},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::{Content, FakeApi};
use kube::client::{Body, ClientBuilder};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tower::Service;

use crate::{
    connect::Clients, controller::action::Action, leader::fence::Fence, manager::Manager,
    metrics::Metrics, options::Options,
};

/// An API server that can remove a kind and interrupt watches.
#[derive(Clone)]
struct Server {
    api: FakeApi,
    /// The status for a kind, by its plural, instead of its objects.
    rejected: Arc<Mutex<Vec<(&'static str, u16)>>>,
    /// Watches that started before the last change are over.
    cut: watch::Sender<()>,
    streams: Arc<Mutex<Streams>>,
    /// The path of each request, and whether it is a list, a watch, or a watch that begins with a list.
    asked: Arc<Mutex<Vec<(String, &'static str)>>>,
    /// Whether watches deliver nothing.
    held: watch::Sender<bool>,
    /// How often the connections of all watches have frozen: those that began before deliver nothing any more.
    frozen: watch::Sender<usize>,
    /// Whether the next event of a watch is not sent as it is, but as a line that is not JSON.
    garbled: Arc<AtomicBool>,
}

/// What becomes of streamed lists.
#[derive(Clone, Copy)]
enum Streams {
    Sent,
    /// With this status.
    Rejected(u16),
    /// They are watches like any other.
    Ignored,
    /// They end before the first object.
    Cut,
}

impl Server {
    fn new() -> Self {
        Self {
            api: FakeApi::new(),
            rejected: Arc::default(),
            cut: watch::Sender::new(()),
            streams: Arc::new(Mutex::new(Streams::Sent)),
            asked: Arc::default(),
            held: watch::Sender::new(false),
            frozen: watch::Sender::new(0),
            garbled: Arc::default(),
        }
    }

    fn stream(&self, streams: Streams) {
        *self.streams.lock().unwrap() = streams;
    }

    /// The requests for a collection: each a list, a watch, or a watch that begins with a list.
    fn asked(&self, plural: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let here = asked.iter().filter(|(path, _)| path.ends_with(plural));
        here.map(|(_, what)| (*what).to_owned()).collect()
    }

    fn reject(&self, kinds: &[(&'static str, u16)]) {
        *self.rejected.lock().unwrap() = kinds.to_vec();
        self.cut.send_replace(());
    }

    fn manager(&self, options: Options) -> Manager {
        let mut manager = self.empty_manager(options);
        manager
            .controller::<ConfigMap>("map")
            .owns::<Secret>()
            .reconcile(async |_, _| Ok(Action::await_change()));
        manager
    }

    /// A manager without controllers.
    fn empty_manager(&self, options: Options) -> Manager {
        let options = Options {
            // The remarks are registered with the server of probes.
            health_probe_bind_address: "127.0.0.1:0".parse().unwrap(),
            ..options
        };
        let (fence, metrics) = (Fence::closed(), Metrics::new());
        let connections = || anyhow::Ok(ClientBuilder::new(self.clone(), "default"));
        let count = metrics.requests().to(&Uri::from_static("http://in-memory"));
        let clients = Clients::with(connections, &fence, &count).unwrap();
        Manager::with(options, "test.example.com", clients, fence, metrics)
    }

    /// The number of requests for a collection.
    fn count(&self, plural: &str) -> usize {
        let requests = self.api.requests();
        requests.iter().filter(|it| it.ends_with(plural)).count()
    }
}

impl Service<Request<Body>> for Server {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Answer>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        let has = |word| request.uri().query().unwrap_or_default().contains(word);
        let (watches, lists) = (has("watch=true"), has("sendInitialEvents"));
        let what = match (watches, lists) {
            (true, true) => "stream",
            (true, false) => "watch",
            (false, _) => "list",
        };
        self.asked.lock().unwrap().push((path.clone(), what));
        let streams = *self.streams.lock().unwrap();
        let streams = if lists { streams } else { Streams::Sent };
        let rejected = self.rejected.lock().unwrap();
        let mut rejected = rejected.iter();
        let code = rejected.find(|(plural, _)| path.split('/').any(|part| part == *plural));
        let code = match (code, streams) {
            (Some((_, code)), _) => Some(*code),
            (None, Streams::Rejected(code)) => Some(code),
            _ => None,
        };
        if matches!(streams, Streams::Ignored) {
            let plain = format!("{path}?watch=true&allowWatchBookmarks=true");
            *request.uri_mut() = plain.parse().unwrap();
        }
        let cut = matches!(streams, Streams::Cut);
        let answer = self.api.connection().call(request);
        let mut changed = self.cut.subscribe();
        let held = watches.then(|| self.held.subscribe());
        let garbled = watches.then(|| self.garbled.clone());
        let frozen = self.frozen.subscribe();
        let frozen = watches.then(|| (*frozen.borrow(), frozen.clone()));
        Box::pin(async move {
            let answer = answer.await?;
            let Some(code) = code else {
                let end: BoxFuture<'static, ()> = match (cut, watches) {
                    (true, _) => Box::pin(std::future::ready(())),
                    (false, true) => Box::pin(async move { drop(changed.changed().await) }),
                    (false, false) => Box::pin(std::future::pending()),
                };
                return Ok(answer.map(|content| Answer {
                    content,
                    end,
                    held,
                    frozen,
                    garbled,
                }));
            };
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
                "code": code, "reason": "Rejected", "message": format!("{path} is rejected"),
            });
            let answer = Response::builder().status(code);
            let answer = answer.body(Content::from(&status)).unwrap();
            Ok(answer.map(|content| Answer {
                content,
                end: Box::pin(std::future::pending()),
                held: None,
                frozen: None,
                garbled: None,
            }))
        })
    }
}

/// A body that may end early, and may be held back.
struct Answer {
    content: Content,
    end: BoxFuture<'static, ()>,
    held: Option<watch::Receiver<bool>>,
    /// How often watches had frozen when it began.
    frozen: Option<(usize, watch::Receiver<usize>)>,
    garbled: Option<Arc<AtomicBool>>,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some((before, frozen)) = &self.frozen
            && *frozen.borrow() > *before
        {
            return Poll::Pending;
        }
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Some(held) = self.held.clone().filter(|held| *held.borrow()) {
            let (mut held, waker) = (held, cx.waker().clone());
            tokio::spawn(async move {
                let _ = held.wait_for(|held| !held).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        let frame = Pin::new(&mut self.content).poll_frame(cx);
        if frame.is_ready()
            && let Some(garbled) = &self.garbled
            && garbled.swap(false, Ordering::SeqCst)
        {
            let line = Bytes::from_static(b"<html>\n");
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        frame
    }
}

/// The remarks of `/readyz?verbose` about kinds with problems.
async fn remarks(health: &crate::servers::probes::Health) -> Vec<String> {
    remarks_about(health, "complete").await
}

/// The remarks of `/readyz?verbose` about kinds that contain `word`.
async fn remarks_about(health: &crate::servers::probes::Health, word: &str) -> Vec<String> {
    let request = Request::get("/readyz?verbose").body(()).unwrap();
    let runtime = tokio::runtime::Handle::current();
    let reply = health.answer(request.into_parts().0, &runtime).await;
    let lines = reply.body.lines();
    let remarks = lines.filter(|line| line.contains("cache-") && line.contains(word));
    remarks.map(str::to_owned).collect()
}

/// Runs a manager in accelerated time, and returns its result.
fn run(mut manager: Manager) -> tokio::task::JoinHandle<anyhow::Result<()>> {
    tokio::spawn(async move { manager.run_until(std::future::pending()).await })
}

fn patient() -> Options {
    Options {
        cache_sync_timeout: Duration::from_secs(24 * 3600),
        ..Options::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_is_retried_at_most_four_times_a_minute() {
    let server = Server::new();
    server.reject(&[("secrets", 404)]);
    let manager = server.manager(patient());
    let (health, metrics) = (manager.health.clone(), manager.metrics.clone());
    let _running = run(manager);
    sleep(Duration::from_secs(120)).await;
    let before = server.count("secrets");
    sleep(Duration::from_secs(600)).await;
    let lists = server.count("secrets") - before;
    assert!((20..=40).contains(&lists), "{lists} lists in ten minutes");
    assert!(
        metrics
            .text()
            .unwrap()
            .contains(r#"manager_cache_synced{kind="Secret"} 0"#)
    );

    server.reject(&[]);
    sleep(Duration::from_secs(31)).await;
    assert!(
        metrics
            .text()
            .unwrap()
            .contains(r#"manager_cache_synced{kind="Secret"} 1"#)
    );
    assert_eq!(remarks(&health).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_caches_do_not_fill_fails_and_names_each_kind_and_cause() {
    let server = Server::new();
    server.reject(&[("secrets", 403), ("configmaps", 404)]);
    let began = Instant::now();
    let error = run(server.manager(Options::default()))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 120);
    assert_eq!(
        error.to_string(),
        "some caches are not complete after 120s, see `--cache-sync-timeout`:\n  \
         ConfigMap: cannot list: /api/v1/configmaps is rejected\n    \
         help: does this cluster serve `configmaps` of `v1`?\n  \
         Secret: cannot list: /api/v1/secrets is rejected\n    \
         help: it needs the permission `// +kbr:rbac:groups=core,resources=secrets,verbs=list;watch`"
    );
}

#[tokio::test(start_paused = true)]
async fn the_cache_sync_timeout_starts_once_webhooks_are_served() {
    let server = Server::new();
    server.reject(&[("secrets", 500)]);
    let manager = server.manager(Options::default());
    let webhooks = Arc::new(AtomicBool::new(false));
    let up = webhooks.clone();
    let check = move || {
        up.load(Ordering::Relaxed)
            .then_some(())
            .ok_or_else(String::new)
    };
    manager.health.add_own_ready("webhooks", check);
    let running = run(manager);
    sleep(Duration::from_secs(600)).await;
    assert!(!running.is_finished());
    webhooks.store(true, Ordering::Relaxed);
    let began = Instant::now();
    assert!(running.await.unwrap().is_err());
    assert_eq!(began.elapsed().as_secs(), 120);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_cannot_list_what_every_replica_reads_ends() {
    let server = Server::new();
    server.reject(&[("secrets", 403), ("leases", 403)]);
    let mut manager = server.manager(Options {
        leader_elect: true,
        ..Options::default()
    });
    manager.reads::<Secret>();
    let error = run(manager).await.unwrap().unwrap_err().to_string();
    let problems: Vec<_> = error.lines().skip(1).collect();
    assert_eq!(
        problems,
        [
            "  Secret: cannot list: /api/v1/secrets is rejected",
            "    help: it needs the permission `// +kbr:rbac:groups=core,resources=secrets,verbs=list;watch`"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_later_backs_off_and_is_shown_by_the_probe() {
    let server = Server::new();
    let manager = server.manager(Options::default());
    let health = manager.health.clone();
    let running = run(manager);
    sleep(Duration::from_secs(1)).await;
    server.reject(&[("secrets", 403)]);
    sleep(Duration::from_secs(120)).await;
    let before = server.count("secrets");
    sleep(Duration::from_secs(600)).await;
    let tries = server.count("secrets") - before;
    assert!((20..=40).contains(&tries), "{tries} tries in ten minutes");
    let shown = remarks(&health).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    let remark = "[+]cache-Secret ok: complete, but its watch fails; cannot watch: /api/v1/secrets is rejected; \
                  it needs the permission `// +kbr:rbac:groups=core,resources=secrets,verbs=list;watch`";
    assert_eq!(shown[0], remark);
    assert!(!running.is_finished());
    server.reject(&[]);
    sleep(Duration::from_secs(91)).await;
    assert_eq!(remarks(&health).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn probes_show_what_a_cache_waits_for_with_and_without_election() {
    let server = Server::new();
    server.reject(&[("secrets", 404)]);
    let manager = server.manager(patient());
    let health = manager.health.clone();
    let _running = run(manager);
    sleep(Duration::from_secs(10)).await;
    let remark = "[+]cache-Secret ok: not complete; cannot list: /api/v1/secrets is rejected; \
                  does this cluster serve `secrets` of `v1`?";
    assert_eq!(remarks(&health).await, [remark]);

    server.reject(&[("leases", 403)]);
    let manager = server.manager(Options {
        leader_elect: true,
        ..patient()
    });
    let health = manager.health.clone();
    let _running = run(manager);
    sleep(Duration::from_secs(10)).await;
    let waits = "ok: not complete; it is filled once this replica leads";
    assert_eq!(
        remarks(&health).await,
        [
            format!("[+]cache-ConfigMap {waits}"),
            format!("[+]cache-Secret {waits}")
        ]
    );
}
