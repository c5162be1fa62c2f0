//! Test that each request except a watch ends, whether it is answered or not.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use manager::{Action, Cleanup, Options};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Captain, SOON, captain, is_ready, map, ready, run,
    stub::{Fault, Stub},
};

/// The fault of the first request that begins with this; no fault for others.
fn first(begin: &'static str, fault: Fault) -> impl Fn(&str, usize) -> Fault + Send + Sync {
    move |line, before| {
        if line.starts_with(begin) && before == 0 {
            fault
        } else {
            Fault::None
        }
    }
}

/// The error of a failed request, and its duration.
async fn failed<T>(request: impl Future<Output = kube::Result<T>>) -> (String, Duration) {
    let started = Instant::now();
    let result = timeout(SOON, request).await.expect("it has no limit");
    let error = result.err().expect("it was answered");
    (error.to_string(), started.elapsed())
}

async fn maps(stub: &Stub) -> Api<ConfigMap> {
    let manager = stub.manager(Options::default()).await;
    Api::default_namespaced(manager.client())
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_write_fails_after_40_s_and_its_connection_is_not_reused() {
    let api = FakeApi::new();
    api.put(&map("a"));
    let stub = Stub::start(&api, first("PATCH", Fault::Silence)).await;
    let maps = maps(&stub).await;
    let patch = Patch::Merge(json!({"data": {"a": "b"}}));
    let write = async || maps.patch("a", &PatchParams::default(), &patch).await;
    let (error, after) = failed(write()).await;
    let says = "PATCH /api/v1/namespaces/default/configmaps/a was not answered within 40s";
    assert!(error.contains(says), "{error}");
    assert_eq!(after.as_secs(), 40);
    write().await.unwrap();
    let seen = stub.seen("PATCH");
    assert_ne!(seen[0].connection, seen[1].connection);
}

/// The API server waits for them for up to 34 s in all.
#[tokio::test(start_paused = true)]
async fn a_change_that_webhooks_delay_for_longer_than_a_read_may_take_succeeds() {
    let api = FakeApi::new();
    api.put(&map("a"));
    let delay = Fault::Slow(33);
    let stub = Stub::start(&api, move |line, _| {
        if line.starts_with("GET") {
            Fault::None
        } else {
            delay
        }
    })
    .await;
    let maps = maps(&stub).await;
    let patch = Patch::Merge(json!({"data": {"a": "b"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await;
    let patched = patched.unwrap();
    let params = PostParams::default();
    maps.replace("a", &params, &patched).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stalled_response_fails_after_30_s_and_its_connection_is_not_reused() {
    let api = FakeApi::new();
    api.put(&map("a"));
    let stub = Stub::start(&api, first("GET", Fault::Stall)).await;
    let maps = maps(&stub).await;
    let (error, after) = failed(maps.get("a")).await;
    let says = "GET /api/v1/namespaces/default/configmaps/a was not answered in full within 30s";
    assert!(error.contains(says), "{error}");
    assert_eq!(after.as_secs(), 30);
    maps.get("a").await.unwrap();
    let seen = stub.seen("GET");
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[tokio::test(start_paused = true)]
async fn connections_are_reused_after_a_response() {
    let api = FakeApi::new();
    api.put(&map("a"));
    let stub = Stub::start(&api, |_, _| Fault::None).await;
    let maps = maps(&stub).await;
    for _ in 0..3 {
        maps.get("a").await.unwrap();
    }
    let seen = stub.seen("GET");
    assert!(seen.iter().all(|seen| seen.connection == 0), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_times_out_after_60_s() {
    let stub = Stub::start(&FakeApi::new(), |_, _| Fault::Silence).await;
    let maps = maps(&stub).await;
    let (error, after) = failed(maps.list(&ListParams::default())).await;
    let says = "GET /api/v1/namespaces/default/configmaps was not answered within 60s";
    assert!(error.contains(says), "{error}");
    assert_eq!(after.as_secs(), 60);
}

/// The API server has given up by then, so it does not create the object while the caller tries again.
#[tokio::test(start_paused = true)]
async fn a_creation_times_out_only_after_the_api_server_has_given_up() {
    let stub = Stub::start(&FakeApi::new(), |_, _| Fault::Silence).await;
    let maps = maps(&stub).await;
    let (error, after) = failed(maps.create(&PostParams::default(), &map("a"))).await;
    let says = "POST /api/v1/namespaces/default/configmaps was not answered within 65s";
    assert!(error.contains(says), "{error}");
    assert_eq!(after.as_secs(), 65);
}

#[tokio::test(start_paused = true)]
async fn a_watch_must_begin_within_30_s_and_may_then_be_silent() {
    let api = FakeApi::new();
    let stub = Stub::start(&api, first("GET", Fault::Silence)).await;
    let maps = maps(&stub).await;
    // A watch with bookmarks ends if they do not arrive.
    let params = WatchParams::default().disable_bookmarks();
    let watch = async || maps.watch(&params, "0").await;
    let (error, after) = failed(watch()).await;
    assert!(error.contains("was not answered within 30s"), "{error}");
    assert_eq!(after.as_secs(), 30);

    let mut events = watch().await.unwrap().boxed();
    let changed = async {
        // The API server ends it after 290 s.
        sleep(Duration::from_secs(280)).await;
        api.put(&map("a"));
    };
    let (event, ()) = tokio::join!(events.try_next(), changed);
    let event = event.unwrap();
    assert!(matches!(event, Some(WatchEvent::Added(_))), "{event:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_status_write_is_retried() {
    let api = FakeApi::new();
    for name in ["a", "b"] {
        api.put(&captain(name));
    }
    let stub = Stub::start(&api, |line, before| {
        if line.starts_with("PATCH") && line.contains("/status") && before == 0 {
            Fault::Silence
        } else {
            Fault::None
        }
    })
    .await;
    let mut options = Options::default();
    // A hanging reconcile would block the other.
    options.max_concurrent_reconciles = 1;
    let mut manager = stub.manager(options).await;
    ready(&mut manager);
    let running = run(manager);
    let written = async || Ok((is_ready(&stub, "a") && is_ready(&stub, "b")).then_some(()));
    eventually(SOON, "both have a status", written)
        .await
        .unwrap();
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn unanswered_events_finalizers_and_lists_are_retried() {
    let api = FakeApi::new();
    api.put(&captain("a"));
    let stub = Stub::start(&api, |line, before| {
        let event = line.starts_with("POST") && line.contains("/events");
        let list = line.contains("sendInitialEvents=true");
        if before == 0 && (event || list || !line.contains("watch=true")) {
            Fault::Silence
        } else {
            Fault::None
        }
    })
    .await;
    let mut manager = stub.manager(Options::default()).await;
    manager
        .controller::<Captain>("captain")
        .finalizer("crew.example.com/captain", async |_, _| Ok(Cleanup::Done))
        .reconcile(async |_: Arc<Captain>, cx: manager::Context<Captain>| {
            // Both are in one lane, so the second waits for the first.
            cx.event("Seen", "it is there");
            Ok(Action::requeue(Duration::from_secs(1)))
        });
    let running = run(manager);
    let sent = async || Ok((!api.all_json("events").is_empty()).then_some(()));
    eventually(SOON, "an event is sent", sent).await.unwrap();
    let lines = ["GET", "PATCH", "POST"].map(|method| stub.seen(method).len());
    assert!(lines.iter().all(|count| *count >= 2), "{lines:?}");
    running.abort();
}
