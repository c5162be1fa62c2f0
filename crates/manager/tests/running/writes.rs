//! Test deletions and updates in a reconcile, while others write at the same time.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use kube::{CustomResource, ResourceExt};
use manager::{Action, Cleanup, Context, Manager, kind, metadata};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Captain, captain, object};

fn hook() -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    api
}

/// Applies the child `map`, or deletes it if the captain has no chart.
fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .reconcile(async |captain: Arc<Captain>, cx: Context<Captain>| {
            if captain.spec.chart.is_empty() {
                cx.delete(&object("map", "")).await?;
            } else {
                cx.apply(&object("map", &captain.spec.chart)).await?;
            }
            Ok(Action::await_change())
        });
}

fn deletions(api: &FakeApi) -> usize {
    count(api, "DELETE")
}

/// How many requests have this method.
fn count(api: &FakeApi, method: &str) -> usize {
    let requests = api.requests();
    let requests = requests
        .iter()
        .filter(|request| request.starts_with(method));
    requests.count()
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "crew.example.com", version = "v1", kind = "Fleet", namespaced)]
struct FleetSpec {
    ships: HashMap<String, usize>,
}

#[tokio::test]
async fn a_child_whose_map_has_another_order_is_not_applied_again() {
    let api = hook();
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns(kind::<Fleet>())
            .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
                for _ in 0..10 {
                    let ships = (0..20).map(|ship| (format!("ship-{ship}"), ship)).collect();
                    cx.apply(&Fleet::new("fleet", FleetSpec { ships })).await?;
                }
                Ok(Action::await_change())
            });
    };
    api.reconcile(register, "hook").await.unwrap();
    assert_eq!(count(&api, "PATCH"), 1);
    let fleet: Fleet = api.get("default", "fleet").unwrap();
    assert_eq!(fleet.spec.ships.len(), 20);
}

#[tokio::test]
async fn a_child_is_deleted_by_name_and_a_missing_one_costs_no_request() {
    let api = hook();
    api.put(&captain("hook", "chart"));
    api.reconcile(register, "hook").await.unwrap();
    assert!(api.get::<ConfigMap>("default", "map").is_some());
    api.put(&captain("hook", ""));
    for _ in 0..2 {
        api.reconcile(register, "hook").await.unwrap();
        assert!(api.get::<ConfigMap>("default", "map").is_none());
    }
    assert_eq!(deletions(&api), 1);
}

#[tokio::test]
async fn an_object_that_is_not_a_child_is_not_deleted() {
    let api = hook();
    api.put(&object("map", ""));
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let error = error.to_string();
    let said = "ConfigMap `default/map` exists and has no owner; it was not deleted\nhelp: ";
    assert!(error.starts_with(said), "{error}");
    assert!(api.get::<ConfigMap>("default", "map").is_some());
}

#[tokio::test]
async fn a_recreated_object_is_not_deleted() {
    let api = hook();
    api.put(&object("map", "old"));
    let old: ConfigMap = api.get("default", "map").unwrap();
    let (other, old) = (api.clone(), Arc::new(old));
    let register = move |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reconcile(move |_, cx: Context<Captain>| {
                let (api, old) = (other.clone(), old.clone());
                async move {
                    api.delete::<ConfigMap>("default", "map");
                    // It is already gone, which is not an error.
                    cx.delete(&*old).await?;
                    api.put(&object("map", "new"));
                    cx.delete(&*old).await?;
                    Ok(Action::await_change())
                }
            });
    };
    api.reconcile(register, "hook").await.unwrap();
    let new: ConfigMap = api.get("default", "map").unwrap();
    assert_eq!(new.data.unwrap()["text"], "new");
    assert_eq!(deletions(&api), 2);
}

/// Updates the `ConfigMap` `map`, which another writer changes `conflicts` times meanwhile. Returns how often the
/// change was made.
async fn update(api: &FakeApi, conflicts: usize) -> anyhow::Result<usize> {
    let tries = Arc::new(AtomicUsize::new(0));
    let (other, made) = (api.clone(), tries.clone());
    let register = move |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reads(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let (api, made) = (other.clone(), made.clone());
                async move {
                    let map = cx.get::<ConfigMap>("map")?;
                    let mark = |map: &mut ConfigMap| {
                        let tries = made.fetch_add(1, Ordering::SeqCst);
                        if tries < conflicts {
                            api.put(&object("map", &tries.to_string()));
                        }
                        map.labels_mut().insert("ours".to_owned(), "yes".to_owned());
                    };
                    cx.update(&*map.unwrap(), mark).await?;
                    Ok(Action::await_change())
                }
            });
    };
    api.reconcile(register, "hook").await?;
    Ok(tries.load(Ordering::SeqCst))
}

#[tokio::test]
async fn an_update_keeps_concurrent_changes() {
    let api = hook();
    api.put(&object("map", ""));
    assert_eq!(update(&api, 3).await.unwrap(), 4);
    let map: ConfigMap = api.get("default", "map").unwrap();
    assert_eq!(map.labels()["ours"], "yes");
    assert_eq!(map.data.unwrap()["text"], "2");
    // Now there is nothing to change.
    let before = api.requests().len();
    assert_eq!(update(&api, 0).await.unwrap(), 1);
    let requests = api.requests();
    assert!(
        requests[before..]
            .iter()
            .all(|request| request.starts_with("GET"))
    );
}

#[tokio::test]
async fn an_update_gives_up_after_five_conflicts() {
    let api = hook();
    api.put(&object("map", ""));
    let error = update(&api, usize::MAX).await.unwrap_err();
    assert!(
        format!("{error:#}").contains("cannot update ConfigMap `default/map`"),
        "{error:#}"
    );
    let patches = api.requests();
    let patches = patches
        .iter()
        .filter(|request| request.starts_with("PATCH"));
    assert_eq!(patches.count(), 5);
}

#[tokio::test]
async fn an_update_of_a_status_that_is_a_subresource_is_an_error() {
    let api = hook();
    let register = |manager: &mut Manager| {
        manager.controller::<Captain>("captain").reconcile(
            async |captain: Arc<Captain>, cx: Context<Captain>| {
                let observe = |captain: &mut Captain| {
                    captain.status.get_or_insert_default().observed_generation = Some(7);
                };
                cx.update(&*captain, observe).await?;
                Ok(Action::await_change())
            },
        );
    };
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("`cx.status`"), "{error}");
    let captain: Captain = api.get("default", "hook").unwrap();
    assert!(captain.status.is_none());
}

#[tokio::test]
async fn what_a_registration_says_twice_or_without_effect_is_a_mistake() {
    let wrong = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .finalizer("example.com/a", async |_, _| Ok(Cleanup::Done))
            .finalizer("example.com/a", async |_, _| Ok(Cleanup::Done))
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .conditions_only(|status| &mut status.conditions)
            .reads(kind::<ConfigMap>().when(|_, _| false))
            .reconcile(async |_, _| Ok(Action::await_change()));
        manager.reads(kind::<ConfigMap>().optional());
    };
    let error = FakeApi::new().run(wrong).unwrap_err().to_string();
    for part in [
        "controller `captain` has the finalizer `example.com/a` twice",
        "controller `captain` names the conditions twice",
        "`.reads(kind::<ConfigMap>().when(…))`: the kind is only read",
        "`manager.reads(kind::<ConfigMap>().optional())` cannot start without the kind",
    ] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
}

#[tokio::test]
async fn several_clean_ups_run_in_the_order_of_their_registration_until_each_is_done() {
    let (api, journal) = (hook(), Arc::new(Mutex::new(Vec::new())));
    let log = journal.clone();
    let register = move |manager: &mut Manager| {
        let cleanup = |name: &'static str, rests: usize| {
            let log = log.clone();
            move |_, _| {
                let mut log = log.lock().unwrap();
                log.push(name);
                let runs = log.iter().filter(|it| **it == name).count();
                async move {
                    Ok(if runs > rests {
                        Cleanup::Done
                    } else {
                        Cleanup::Again(Duration::from_secs(1))
                    })
                }
            }
        };
        manager
            .controller::<Captain>("captain")
            .finalizer("example.com/crew", cleanup("crew", 1))
            .finalizer("example.com/ship", cleanup("ship", 0))
            .reconcile(async |_, _| Ok(Action::await_change()));
    };
    let finalizers = || Some(api.get::<Captain>("default", "hook")?.metadata.finalizers);
    api.reconcile(&register, "hook").await.unwrap();
    let names = |names: &[&str]| Some(Some(names.iter().map(|it| (*it).to_owned()).collect()));
    let both = names(&["example.com/crew", "example.com/ship"]);
    assert_eq!(finalizers(), both);
    api.delete::<Captain>("default", "hook");
    api.reconcile(&register, "hook").await.unwrap();
    assert_eq!(finalizers(), both);
    api.reconcile(&register, "hook").await.unwrap();
    assert_eq!(finalizers(), None);
    assert_eq!(*journal.lock().unwrap(), ["crew", "crew", "ship"]);
}

#[tokio::test]
async fn an_update_of_an_object_that_is_gone_returns_none() {
    for replaced in [false, true] {
        let api = hook();
        api.put(&object("chart", "old"));
        let server = api.clone();
        let register = move |manager: &mut Manager| {
            manager
                .controller::<Captain>("captain")
                .reconcile(move |_, cx: Context<Captain>| {
                    let server = server.clone();
                    async move {
                        let chart = cx.get_live::<ConfigMap>("chart").await?.unwrap();
                        server.delete::<ConfigMap>("default", "chart");
                        if replaced {
                            server.put(&object("chart", "new"));
                        }
                        let changed = cx.update(&*chart, |chart| chart.data = None).await?;
                        anyhow::ensure!(changed.is_none(), "{changed:?}");
                        // The same for a list, which is read first.
                        let finalizer = |chart: &mut ConfigMap| {
                            chart.finalizers_mut().push("example.com/a".to_owned());
                        };
                        let changed = cx.update(&*chart, finalizer).await?;
                        anyhow::ensure!(changed.is_none(), "{changed:?}");
                        Ok(Action::await_change())
                    }
                });
        };
        api.reconcile(register, "hook").await.unwrap();
        let now: Option<ConfigMap> = api.get("default", "chart");
        assert_eq!(
            now.as_ref().is_some_and(|chart| chart.data.is_some()),
            replaced
        );
        assert!(now.is_none_or(|chart| chart.finalizers().is_empty()));
    }
}
