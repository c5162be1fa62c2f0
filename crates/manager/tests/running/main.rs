//! Test a running manager from the user's view, on the fake API server.

mod children;
mod conditions;
mod controls;
mod crowds;
mod dynamic;
mod enqueues;
mod errors;
mod events;
mod everywhere;
mod faults;
mod lists;
mod own;
mod own_conditions;
mod panics;
mod predicates;
mod priority;
mod reads;
mod rendered;
mod replaced;
mod retries;
mod shapes;
mod standby;
mod status;
mod storms;
mod support;
mod takeover;
mod tenants;
mod time;
mod transformed;
mod unions;
mod unreadable;
mod unseen;
mod writes;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kbr_testing::{FakeApi, eventually};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use manager::{Action, Context, Manager, kind, metadata};
use serde_json::json;
use support::{Running, SOON, manager, object, options, reached};
use tokio::sync::Notify;

/// Counts the reconciles, fails those of `bad`, and writes a mark for `good`.
fn counting(manager: &mut Manager) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager.controller::<ConfigMap>("map").reconcile(
        move |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            let counted = counted.clone();
            async move {
                counted.fetch_add(1, Ordering::SeqCst);
                anyhow::ensure!(map.name_any() != "bad", "told to fail");
                if map.name_any() == "good" && map.annotations().is_empty() {
                    let patch = json!({"metadata": {"annotations": {"seen": "yes"}}});
                    let api = Api::<ConfigMap>::default_namespaced(cx.client());
                    api.patch("good", &PatchParams::default(), &Patch::Merge(patch))
                        .await?;
                }
                Ok(Action::await_change())
            }
        },
    );
    count
}

#[tokio::test]
async fn each_object_is_reconciled_at_start_and_when_it_changes() {
    let api = FakeApi::new();
    api.put(&object("a", "1"));
    api.put(&object("b", "1"));
    let mut manager = manager(&api);
    let count = counting(&mut manager);
    let running = Running::start(manager);
    reached(&count, 2).await;
    api.put(&object("a", "2"));
    reached(&count, 3).await;
    api.put(&object("c", "1"));
    reached(&count, 4).await;
    running.stop().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_failing_object_is_retried_and_delays_no_other() {
    let api = FakeApi::new();
    api.put(&object("bad", ""));
    let mut manager = manager(&api);
    let count = counting(&mut manager);
    let running = Running::start(manager);
    reached(&count, 8).await;
    // By now `bad` is in its back-off, which gets longer each time.
    api.put(&object("good", ""));
    let good = async || {
        let seen = api.get::<ConfigMap>("default", "good");
        Ok(seen.filter(|seen| seen.annotations().contains_key("seen")))
    };
    eventually(SOON, "the good one", good).await.unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_hanging_reconcile_is_cancelled_and_retried() {
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let mut options = options();
    options.reconcile_timeout = Duration::from_millis(20);
    let mut manager = api.manager_with(options);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, _| {
            let count = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                if count < 2 {
                    std::future::pending::<()>().await;
                }
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    reached(&count, 3).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_reconcile_in_progress_at_shutdown_finishes() {
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let mut manager = manager(&api);
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let ended = Arc::new(AtomicUsize::new(0));
    let parts = (begun.clone(), go_on.clone(), ended.clone());
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, _| {
            let (begun, go_on, ended) = parts.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    begun.notified().await;
    let stopping = tokio::spawn(running.stop());
    go_on.notify_one();
    stopping.await.unwrap().unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_reconcile_that_exceeds_the_shutdown_timeout_is_an_error() {
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let mut manager = manager(&api);
    let begun = Arc::new(Notify::new());
    let notify = begun.clone();
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, _| {
            notify.notify_one();
            std::future::pending()
        });
    let running = Running::start(manager);
    begun.notified().await;
    let error = running.stop().await.unwrap_err().to_string();
    let said = "1 reconcile did not end within 200ms: map `default/a`\nhelp: `--shutdown-timeout`";
    assert!(error.contains(said), "{error}");
}

#[tokio::test]
async fn the_events_of_the_last_reconciles_are_sent_before_shutdown() {
    let api = FakeApi::new();
    for n in 0..50 {
        api.put(&object(&format!("map-{n}"), ""));
    }
    let mut manager = manager(&api);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager
        .controller::<ConfigMap>("map")
        .reconcile(move |_, cx: Context<ConfigMap>| {
            cx.event("Seen", "it is there");
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(Action::await_change()) }
        });
    let running = Running::start(manager);
    reached(&count, 50).await;
    running.stop().await.unwrap();
    assert_eq!(api.all_json("events").len(), 50);
}

#[tokio::test]
async fn an_up_to_date_child_is_not_applied_again() {
    let api = FakeApi::new();
    api.put(&object("parent", "1"));
    let mut manager = manager(&api);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    manager
        .controller::<ConfigMap>("map")
        .owns(metadata::<Secret>())
        .owns(kind::<Service>())
        .reconcile(move |_, cx: Context<ConfigMap>| {
            let counted = counted.clone();
            async move {
                let mut secret = Secret::default();
                secret.metadata.name = Some("child".to_owned());
                let secret = cx.apply(&secret).await?;
                anyhow::ensure!(secret.metadata.uid.is_some(), "not returned whole");
                let mut service = Service::default();
                service.metadata.name = Some("child".to_owned());
                cx.apply(&service).await?;
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    reached(&count, 1).await;
    let sent = || {
        let requests = api.requests();
        requests
            .iter()
            .filter(|request| request.starts_with("PATCH"))
            .count()
    };
    // Until the caches contain the children, they are sent again.
    let quiet = async || {
        let (before, next) = (sent(), count.load(Ordering::SeqCst) + 1);
        api.put(&object("parent", &next.to_string()));
        reached(&count, next).await;
        Ok((sent() == before).then_some(()))
    };
    eventually(SOON, "a reconcile that sends nothing", quiet)
        .await
        .unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_task_that_fails_ends_the_manager_with_its_error() {
    let mut manager = manager(&FakeApi::new());
    manager.always("leak", async |_| anyhow::bail!("we sink"));
    let error = manager.run_until(std::future::pending()).await.unwrap_err();
    assert_eq!(format!("{error:#}"), "task `leak` failed: we sink");
}

#[tokio::test]
async fn tasks_run_until_the_manager_stops() {
    let mut manager = manager(&FakeApi::new());
    let ended = Arc::new(AtomicUsize::new(0));
    for leading in [true, false] {
        let ended = ended.clone();
        let task = move |running: manager::Running| async move {
            running.stopped().await;
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        if leading {
            manager.leading("watch", task);
        } else {
            manager.always("watch", task);
        }
    }
    Running::start(manager).stop().await.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 2);
}
