//! Test children that no watch covers, and children of an earlier owner.

use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kbr_testing::{FakeApi, eventually};
use kube::{
    Resource, ResourceExt,
    api::{ObjectMeta, PartialObjectMeta},
};
use manager::{Action, Cleanup, Context, Key, Manager, kind, metadata};

use crate::support::{Captain, Running, SOON, Said, captain, object, options};

/// A `ConfigMap` in a namespace that is not watched.
fn elsewhere() -> ConfigMap {
    let mut map = object("map", "ours");
    map.metadata.namespace = Some("elsewhere".to_owned());
    map
}

/// Runs a controller of namespaces that applies or deletes the child, in a manager that watches another namespace.
/// Returns the result of the first reconcile.
async fn reconcile_elsewhere(api: &FakeApi, deletes: bool) -> String {
    api.put(&Namespace {
        metadata: ObjectMeta {
            name: Some("sea".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    });
    let mut options = options();
    options.watch_namespace = vec!["default".to_owned()];
    let mut manager: Manager = api.manager_with(options);
    let (said, first) = (Said::default(), Arc::new(AtomicBool::new(true)));
    let saying = said.clone();
    manager
        .controller::<Namespace>("namespace")
        .owns(metadata::<ConfigMap>())
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
async fn an_object_in_an_unwatched_namespace_is_not_taken_over() {
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
async fn a_child_in_an_unwatched_namespace_is_deleted_even_after_a_restart() {
    let api = FakeApi::new();
    assert_eq!(reconcile_elsewhere(&api, false).await, "ok");
    assert!(api.get::<ConfigMap>("elsewhere", "map").is_some());
    assert_eq!(reconcile_elsewhere(&api, true).await, "ok");
    assert!(api.get::<ConfigMap>("elsewhere", "map").is_none());
}

#[tokio::test]
async fn a_child_of_a_former_owner_of_the_same_name_is_reported_as_such() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns(metadata::<ConfigMap>())
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

/// A child of this captain, as delivered by a watch.
fn child(name: &str, owner: &Captain) -> ConfigMap {
    let mut map = object(name, "");
    let reference = owner.controller_owner_ref(&()).unwrap();
    map.owner_references_mut().push(reference);
    map
}

#[tokio::test]
async fn children_returns_only_the_children_of_this_object() {
    let api = FakeApi::new();
    for name in ["hook", "ahab"] {
        api.put(&captain(name, ""));
    }
    let stored = |name: &str| api.get::<Captain>("default", name).unwrap();
    let mut former = stored("hook");
    former.metadata.uid = Some("former".to_owned());
    api.put(&child("b", &stored("hook")));
    api.put(&child("a", &stored("hook")));
    api.put(&child("theirs", &stored("ahab")));
    api.put(&child("former", &former));
    api.put(&object("nobodys", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .owns(metadata::<Secret>())
            .reconcile(async |_, cx: Context<Captain>| {
                let names: Vec<_> = cx.children::<ConfigMap>()?;
                let names: Vec<_> = names.iter().map(|map| map.name_any()).collect();
                assert_eq!(names, ["a", "b"]);
                assert!(cx.children::<PartialObjectMeta<Secret>>()?.is_empty());
                cx.children::<Secret>()?;
                Ok(Action::await_change())
            });
    };
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let error = error.to_string();
    let said = "controller `captain` does not cache its children of the kind Secret\n\
                help: register it with `.owns(kind::<Secret>())`";
    assert!(error.starts_with(said), "{error}");
}

#[tokio::test]
async fn a_child_may_have_a_generated_name_and_triggers_a_reconcile() {
    let (api, said) = (FakeApi::new(), Said::default());
    api.put(&captain("hook", ""));
    let saying = said.clone();
    let register = move |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let saying = saying.clone();
                async move {
                    let children = cx.children::<ConfigMap>()?;
                    let Some(child) = children.first() else {
                        let mut child = object("", "");
                        child.metadata.generate_name = Some("map-".to_owned());
                        cx.create(&child).await?;
                        saying.say("none");
                        return Ok(Action::await_change());
                    };
                    saying.say(child.name_any());
                    Ok(Action::await_change())
                }
            });
    };
    let _run = api.run(register).unwrap();
    said.heard("none").await;
    let seen = async || Ok(said.last().filter(|name| name != "none"));
    let name = eventually(SOON, "the child", seen).await.unwrap();
    assert!(name.starts_with("map-") && name.len() > 4, "{name}");
    let map: ConfigMap = api.get("default", &name).unwrap();
    assert_eq!(map.owner_references()[0].name, "hook");
    assert_eq!(api.all_json("configmaps").len(), 1);
}

#[tokio::test]
async fn applying_a_child_without_a_name_fails_and_points_to_create() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reconcile(async |_, cx: Context<Captain>| {
                let mut child = object("", "");
                let error = cx.create(&child).await.unwrap_err().to_string();
                assert!(error.contains("`metadata.generateName`"), "{error}");
                child.metadata.generate_name = Some("map-".to_owned());
                cx.apply(&child).await?;
                Ok(Action::await_change())
            });
    };
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`cx.create` generates a name"), "{error}");
}

#[tokio::test]
async fn an_object_without_an_owner_is_applied_in_any_namespace_and_deleted_in_the_finalizer() {
    let api = FakeApi::new();
    let mut theirs = elsewhere();
    for text in theirs.data.iter_mut().flat_map(|data| data.values_mut()) {
        "theirs".clone_into(text);
    }
    api.put(&theirs);
    api.put(&captain("hook", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .finalizer("example.com/captain", async |_, cx: Context<Captain>| {
                let map = cx.get_live::<ConfigMap>(Key::new(Some("elsewhere"), "map"));
                if let Some(map) = map.await? {
                    cx.delete(&*map).await?;
                }
                Ok(Cleanup::Done)
            })
            .reconcile(async |_, cx: Context<Captain>| {
                let applied = cx.apply_unowned(&elsewhere()).await?;
                assert_eq!(applied.data, elsewhere().data);
                Ok(Action::await_change())
            });
    };
    api.reconcile(register, "hook").await.unwrap();
    let map: ConfigMap = api.get("elsewhere", "map").unwrap();
    assert_eq!(
        (map.data.clone(), map.owner_references().len()),
        (elsewhere().data, 0)
    );
    api.delete::<Captain>("default", "hook");
    api.reconcile(register, "hook").await.unwrap();
    assert!(api.get::<ConfigMap>("elsewhere", "map").is_none());
    assert!(api.get::<Captain>("default", "hook").is_none());
}
