//! Caches whose watches fail, on a fake API server that rejects some of them.

mod behind;
mod expired;
mod faulty;
mod leading;
mod optional;
mod polled;
mod server;
mod streamed;

use crate::kind;
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
use tower::{Service, service_fn};

use self::server::{Server, Streams};
use crate::{
    connect::Clients, controller::action::Action, harness, leader::fence::Fence, manager::Manager,
    metrics::Metrics, options::Options,
};

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
    manager.reads(kind::<Secret>());
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
    let remark = "[+]cache-Secret ok: complete, but its watch fails; cannot list: /api/v1/secrets is rejected; \
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

#[tokio::test]
async fn a_watch_that_panics_ends_the_leader_and_names_the_kind() {
    type Answer = Result<Response<Body>, Infallible>;
    let server = service_fn(async |request: Request<Body>| -> Answer {
        panic!("{} sank", request.uri().path())
    });
    let clock = harness::Clock::for_tests();
    let mut manager = harness::manager(Options::default(), "test", &server, clock);
    manager.options.health_probe_bind_address = "0".parse().unwrap();
    let controller = manager.controller::<ConfigMap>("map");
    controller.reconcile(async |_, _| Ok(Action::await_change()));
    let error = run(manager).await.unwrap().unwrap_err();
    let expected = "the watch of ConfigMap panicked: /api/v1/configmaps sank";
    assert_eq!(error.to_string(), expected);
}
