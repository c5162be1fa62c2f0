//! Test that a request is sent again later when the API server asks for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use manager::{Action, Context, Options};
use tokio::time::{Instant, timeout};

use crate::{
    Captain, SOON, captain, is_ready, map, ready, run,
    stub::{Fault, Stub},
};

const OBJECTS: usize = 20;

#[tokio::test(start_paused = true)]
async fn writes_wait_for_retry_after_within_their_reconcile() {
    for status in [429, 503] {
        let api = FakeApi::new();
        for n in 0..OBJECTS {
            api.put(&captain(&format!("c{n}")));
        }
        let stub = Stub::start(&api, move |line, before| {
            if line.starts_with("PATCH") && before < 2 {
                Fault::Later(status, 3)
            } else {
                Fault::None
            }
        })
        .await;
        let mut manager = stub.manager(Options::default()).await;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .max_concurrent_reconciles(OBJECTS)
            .reconcile(move |_, cx: Context<Captain>| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move {
                    cx.ready("Done", "all is well");
                    Ok(Action::await_change())
                }
            });
        let (running, started) = (run(manager), Instant::now());
        let all = async || {
            let ready = (0..OBJECTS).all(|n| is_ready(&stub, &format!("c{n}")));
            Ok(ready.then_some(()))
        };
        eventually(SOON, "all have a status", all).await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), OBJECTS, "{status}");
        let sent = stub.seen("PATCH").into_iter();
        let early = sent.filter(|seen| seen.at < started + Duration::from_secs(3));
        assert_eq!(early.count(), OBJECTS, "{status}");
        assert_eq!(stub.seen("PATCH").len(), 3 * OBJECTS, "{status}");
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_uses_the_same_connection() {
    let stub = Stub::start(&FakeApi::new(), |_, before| match before {
        0 => Fault::Later(429, 1),
        _ => Fault::None,
    })
    .await;
    let maps =
        Api::<ConfigMap>::default_namespaced(stub.manager(Options::default()).await.client());
    maps.list(&ListParams::default()).await.unwrap();
    let seen = stub.seen("GET");
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].connection, seen[1].connection);
    assert_eq!(seen[1].at.duration_since(seen[0].at).as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_fails_after_ten_retries() {
    let stub = Stub::start(&FakeApi::new(), |_, _| Fault::Later(503, 1)).await;
    let maps =
        Api::<ConfigMap>::default_namespaced(stub.manager(Options::default()).await.client());
    let (object, params) = (map("a"), PostParams::default());
    let create = timeout(SOON, maps.create(&params, &object)).await;
    let error = create.unwrap().unwrap_err();
    assert!(matches!(error, kube::Error::Api(error) if error.code == 503));
    assert_eq!(stub.seen("POST").len(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_request_fails_immediately_if_retry_after_is_an_hour() {
    let stub = Stub::start(&FakeApi::new(), |_, _| Fault::Later(429, 3600)).await;
    let maps =
        Api::<ConfigMap>::default_namespaced(stub.manager(Options::default()).await.client());
    let started = Instant::now();
    let error = maps.get("a").await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(error) if error.code == 429));
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_retry_ends_with_the_reconcile_timeout() {
    let api = FakeApi::new();
    api.put(&captain("a"));
    let stub = Stub::start(&api, |line, _| {
        if line.starts_with("POST") {
            Fault::Later(429, 5)
        } else {
            Fault::None
        }
    })
    .await;
    let mut options = Options::default();
    options.reconcile_timeout = Duration::from_secs(12);
    let mut manager = stub.manager(options).await;
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
            let maps = Api::<ConfigMap>::default_namespaced(cx.client());
            maps.create(&PostParams::default(), &map("a")).await?;
            Ok(Action::await_change())
        });
    let running = run(manager);
    let failed = async || {
        let captain = api.get::<Captain>("default", "a");
        let status = captain.and_then(|captain| captain.status);
        let told = status.is_some_and(|status| {
            let told = |it: &str| it.contains("cancelled after 12s");
            status.conditions.iter().any(|it| told(&it.message))
        });
        Ok(told.then_some(stub.seen("POST").len()))
    };
    let sent = eventually(SOON, "it is cancelled", failed).await.unwrap();
    assert!((3..=4).contains(&sent), "{sent}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_leader_is_elected_while_the_api_server_is_busy() {
    let api = FakeApi::new();
    api.put(&captain("a"));
    let stub = Stub::start(&api, |line, before| {
        if line.contains("/leases") && before < 3 {
            Fault::Later(429, 1)
        } else {
            Fault::None
        }
    })
    .await;
    let mut options = Options::default();
    options.leader_elect = true;
    let mut manager = stub.manager(options).await;
    ready(&mut manager);
    let running = run(manager);
    let led = async || Ok(is_ready(&stub, "a").then_some(()));
    eventually(SOON, "it leads", led).await.unwrap();
    running.abort();
}
