//! Children where no watch sees them, and those of a former owner.

use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{ResourceExt, api::ObjectMeta};
use manager::{
    Action, Context, Manager, Options,
    testing::{FakeApi, eventually},
};

use crate::support::{Captain, Running, SOON, Said, captain, object, options};

/// A `ConfigMap` where only other namespaces are watched.
fn elsewhere() -> ConfigMap {
    let mut map = object("map", "ours");
    map.metadata.namespace = Some("elsewhere".to_owned());
    map
}

/// Runs a controller of namespaces that applies the child, or deletes it; in a manager that watches another namespace.
/// Returns how the first reconcile ended.
async fn reconcile_elsewhere(api: &FakeApi, deletes: bool) -> String {
    api.put(&Namespace {
        metadata: ObjectMeta {
            name: Some("sea".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    });
    let mut manager: Manager = api.manager_with(Options {
        watch_namespace: vec!["default".to_owned()],
        ..options()
    });
    let (said, first) = (Said::default(), Arc::new(AtomicBool::new(true)));
    let saying = said.clone();
    manager
        .controller::<Namespace>("namespace")
        .owns::<ConfigMap>()
        .reconcile(move |_, cx: Context<Namespace>| {
            let (saying, first) = (saying.clone(), first.clone());
            async move {
                let done = if deletes {
                    cx.delete(&elsewhere()).await
                } else {
                    cx.apply(&elsewhere()).await.map(drop)
                };
                if first.swap(false, Ordering::SeqCst) {
                    saying.say(done.map_or_else(|error| error.to_string(), |()| "ok".to_owned()));
                }
                Ok(Action::await_change())
            }
        });
    let running = Running::start(manager);
    let ended = async || Ok(said.last());
    let ended = eventually(SOON, "a reconcile", ended).await.unwrap();
    running.stop().await.unwrap();
    ended
}

#[tokio::test]
async fn an_object_in_a_namespace_that_is_not_watched_is_not_taken_over() {
    let api = FakeApi::new();
    let mut theirs = elsewhere();
    theirs.data = None;
    api.put(&theirs);
    let ended = reconcile_elsewhere(&api, false).await;
    assert!(ended.contains("it was not changed"), "{ended}");
    let map: ConfigMap = api.get("elsewhere", "map").unwrap();
    assert_eq!((map.data.as_ref(), map.owner_references().len()), (None, 0));
}

#[tokio::test]
async fn a_child_in_a_namespace_that_is_not_watched_is_deleted_after_a_restart_too() {
    let api = FakeApi::new();
    assert_eq!(reconcile_elsewhere(&api, false).await, "ok");
    assert!(api.get::<ConfigMap>("elsewhere", "map").is_some());
    assert_eq!(reconcile_elsewhere(&api, true).await, "ok");
    assert!(api.get::<ConfigMap>("elsewhere", "map").is_none());
}

#[tokio::test]
async fn a_child_of_a_former_owner_of_the_same_name_is_called_that() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns::<ConfigMap>()
            .reconcile(async |captain: Arc<Captain>, cx: Context<Captain>| {
                match captain.spec.chart.as_str() {
                    "delete" => cx.delete(&object("map", "")).await?,
                    _ => drop(cx.apply(&object("map", "")).await?),
                }
                Ok(Action::await_change())
            });
    };
    api.reconcile(register, "hook").await.unwrap();
    let mut map: ConfigMap = api.get("default", "map").unwrap();
    map.owner_references_mut()[0].uid = "former".to_owned();
    api.put(&map);
    for (chart, left) in [("", "changed"), ("delete", "deleted")] {
        api.put(&captain("hook", chart));
        let error = api.reconcile(register, "hook").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "ConfigMap `default/map` is a child of an earlier Captain `hook`, which was deleted; it was not {left}\n\
                 help: wait until the garbage collector has removed it; the reconcile is retried"
            )
        );
    }
}
