//! Test which of a controller's own writes trigger a reconcile, and that none hides the changes of others.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::{FakeApi, eventually, is_ready};
use kube::{ResourceExt, api::ObjectMeta};
use manager::{Action, Context, Manager, kind, metadata};

use crate::support::{Captain, Running, SOON, Said, captain, manager, object};

fn hook() -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    api
}

/// Waits until the manager has sent no write for a while, so that the watches have delivered everything. Returns the
/// number of writes whose request ends with `end`.
async fn settled(api: &FakeApi, end: &str) -> usize {
    let writes = |end: &str| {
        let requests = api.requests();
        let writes = requests
            .iter()
            .filter(|request| !request.starts_with("GET") && request.ends_with(end));
        writes.count()
    };
    let (mut before, mut quiet) = (writes(""), 0);
    while quiet < 50 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        quiet = if writes("") == before { quiet + 1 } else { 0 };
        before = writes("");
    }
    writes(end)
}

/// Records what others wrote to the child `map`. The first time, they write it after it was read and before it is
/// applied.
fn register(manager: &mut Manager, api: &FakeApi, said: &Said) {
    let (api, said) = (api.clone(), said.clone());
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .max_concurrent_reconciles(1)
        .reconcile(move |_, cx: Context<Captain>| {
            let (api, said) = (api.clone(), said.clone());
            async move {
                if let Some(map) = cx.get::<ConfigMap>("map")? {
                    let theirs = map.annotations().contains_key("theirs");
                    said.say(if theirs { "seen" } else { "not seen" });
                    if !theirs {
                        let mut map: ConfigMap = api.get("default", "map").unwrap();
                        let annotations = map.annotations_mut();
                        annotations.insert("theirs".to_owned(), "yes".to_owned());
                        api.put(&map);
                    }
                }
                cx.apply(&object("map", "")).await?;
                Ok(Action::await_change())
            }
        });
}

#[tokio::test]
async fn a_child_change_between_read_and_apply_is_noticed() {
    let (api, said) = (hook(), Said::default());
    let register = |manager: &mut Manager| register(manager, &api, &said);
    // The child exists; the next manager has not applied it yet, which then changes nothing.
    api.reconcile(register, "hook").await.unwrap();
    let mut manager = manager(&api);
    register(&mut manager);
    let running = Running::start(manager);
    said.heard("not seen").await;
    said.heard("seen").await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_child_created_after_a_list_triggers_another_reconcile() {
    let (api, said) = (hook(), Said::default());
    let (mut manager, saying) = (manager(&api), said.clone());
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .reconcile(move |_, cx: Context<Captain>| {
            let saying = saying.clone();
            async move {
                let maps = cx.list::<ConfigMap>().all()?;
                saying.say(maps.len().to_string());
                cx.apply(&object("map", "")).await?;
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard("0").await;
    said.heard("1").await;
    // A reconcile that finds nothing to do sends nothing.
    assert_eq!(settled(&api, "/configmaps/map").await, 1);
    running.stop().await.unwrap();
    assert_eq!((said.count("0"), said.count("1")), (1, 1));
}

#[tokio::test]
async fn a_controllers_update_of_the_spec_is_reconciled() {
    let api = hook();
    let mut manager = manager(&api);
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |captain: Arc<Captain>, cx: Context<Captain>| {
            let chart = |captain: &mut Captain| captain.spec.chart = "chosen".to_owned();
            cx.update(&*captain, chart).await?;
            cx.ready("Sailing", "all is well");
            Ok(Action::await_change())
        });
    let running = Running::start(manager);
    // The generation that `kubectl wait` looks at.
    let observed = async || {
        let captain: Captain = api.get("default", "hook").unwrap();
        let status = captain.status.unwrap_or_default();
        anyhow::ensure!(captain.metadata.generation == Some(2), "not updated");
        let observed = status.observed_generation;
        anyhow::ensure!(observed == Some(2), "{observed:?} was observed");
        Ok(is_ready(&status.conditions).then_some(()))
    };
    eventually(SOON, "the new generation", observed)
        .await
        .unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn updating_the_object_and_deleting_a_child_causes_no_endless_loop() {
    let (api, said) = (hook(), Said::default());
    let (mut manager, saying) = (manager(&api), said.clone());
    manager
        .controller::<Captain>("captain")
        .owns(kind::<Secret>())
        .reconcile(move |captain: Arc<Captain>, cx: Context<Captain>| {
            let saying = saying.clone();
            async move {
                let child = Secret {
                    metadata: ObjectMeta {
                        name: Some(cx.name().to_owned()),
                        finalizers: Some(vec!["example.com/stay".to_owned()]),
                        ..ObjectMeta::default()
                    },
                    ..Secret::default()
                };
                cx.apply(&child).await?;
                cx.delete(&child).await?;
                let mark = |captain: &mut Captain| {
                    let labels = captain.labels_mut();
                    labels.insert("seen".to_owned(), "yes".to_owned());
                };
                cx.update(&*captain, mark).await?;
                saying.say(cx.name());
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard_times("hook", 2).await;
    assert_eq!(settled(&api, "/captains/hook").await, 1);
    running.stop().await.unwrap();
    let hook: Captain = api.get("default", "hook").unwrap();
    assert_eq!(hook.labels()["seen"], "yes");
    let secret: Secret = api.get("default", "hook").unwrap();
    assert!(secret.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn a_change_by_another_writer_during_a_status_write_is_reconciled() {
    let (api, said) = (hook(), Said::default());
    let (mut manager, saying, other) = (manager(&api), said.clone(), api.clone());
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(move |captain: Arc<Captain>, cx: Context<Captain>| {
            let (saying, api) = (saying.clone(), other.clone());
            async move {
                let theirs = captain.labels().contains_key("theirs");
                saying.say(if theirs { "seen" } else { "not seen" });
                if !theirs {
                    let mut captain = (*captain).clone();
                    let labels = captain.labels_mut();
                    labels.insert("theirs".to_owned(), "yes".to_owned());
                    api.put(&captain);
                }
                // The manager gets a conflict, and repeats its changes on the new version.
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard("seen").await;
    assert_eq!(settled(&api, "/status").await, 2);
    running.stop().await.unwrap();
    assert_eq!(said.count("seen"), 1);
}

#[tokio::test]
async fn one_write_restores_a_changed_child_even_of_the_controllers_own_kind() {
    let api = FakeApi::new();
    api.put(&object("parent", ""));
    let mut manager = manager(&api);
    manager
        .controller::<ConfigMap>("map")
        .owns(kind::<ConfigMap>())
        .reconcile(async |map: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            if map.name_any() == "parent" {
                cx.apply(&object("child", "right")).await?;
            }
            Ok(Action::await_change())
        });
    let running = Running::start(manager);
    let right = async || {
        let child = api.get::<ConfigMap>("default", "child");
        let data = child.and_then(|child| child.data).unwrap_or_default();
        Ok((data.get("text").map(String::as_str) == Some("right")).then_some(()))
    };
    eventually(SOON, "the child", right).await.unwrap();
    let mut child: ConfigMap = api.get("default", "child").unwrap();
    child.data = object("child", "wrong").data;
    api.put(&child);
    eventually(SOON, "the child put right", right)
        .await
        .unwrap();
    assert_eq!(settled(&api, "/configmaps/child").await, 2);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_child_whose_metadata_is_cached_is_not_read_again_by_the_reconcile_that_it_triggers() {
    let (api, said) = (hook(), Said::default());
    let (mut manager, saying) = (manager(&api), said.clone());
    let delivered = Arc::new(AtomicBool::new(false));
    let delivers = delivered.clone();
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .watches(metadata::<ConfigMap>(), move |_, _| {
            delivers.store(true, Ordering::SeqCst);
            Ok(Vec::new())
        })
        .reconcile(move |_, cx: Context<Captain>| {
            let (saying, delivered) = (saying.clone(), delivered.clone());
            async move {
                let map = cx.apply(&object("map", "text")).await?;
                anyhow::ensure!(map.data == object("", "text").data, "not whole");
                saying.say("applied");
                // The watch delivers the child before the reconcile ends, which is the usual order while the status is
                // being written.
                while !delivered.load(Ordering::SeqCst) {
                    tokio::task::yield_now().await;
                }
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    said.heard_times("applied", 2).await;
    assert_eq!(settled(&api, "/configmaps/map").await, 1);
    running.stop().await.unwrap();
    let read = "GET /api/v1/namespaces/default/configmaps/map".to_owned();
    assert!(!api.requests().contains(&read));
}
