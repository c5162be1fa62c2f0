//! Test that an object is deleted, and created again under the same name, while it is reconciled.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use kube::ResourceExt;
use manager::{Action, Cleanup, Context, Manager, kind};

use crate::support::{Captain, captain, object};

const FINALIZER: &str = "crew.example.com/captain";

/// Another captain of the same name, which has the finalizer.
fn another() -> Captain {
    let mut captain = captain("hook", "");
    captain.finalizers_mut().push(FINALIZER.to_owned());
    captain
}

/// Replaces this captain with another.
fn replace(api: &FakeApi, captain: &Captain) {
    let mut gone = captain.clone();
    gone.metadata.finalizers = None;
    api.put(&gone);
    api.delete::<Captain>("default", "hook");
    api.put(&another());
    let new: Captain = api.get("default", "hook").unwrap();
    assert_ne!(new.uid(), captain.uid());
}

fn register(manager: &mut Manager, api: &FakeApi) {
    let (ours, theirs) = (api.clone(), api.clone());
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, move |captain: Arc<Captain>, _| {
            let api = ours.clone();
            async move {
                replace(&api, &captain);
                Ok(Cleanup::Done)
            }
        })
        .reconcile(move |captain: Arc<Captain>, cx: Context<Captain>| {
            let api = theirs.clone();
            async move {
                replace(&api, &captain);
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            }
        });
}

#[tokio::test]
async fn the_status_is_not_written_to_a_new_object_of_the_same_name() {
    let api = FakeApi::new();
    api.put(&another());
    let reconciled = api.reconcile(|manager| register(manager, &api), "hook");
    reconciled.await.unwrap();
    let new: Captain = api.get("default", "hook").unwrap();
    assert!(new.status.is_none(), "{:?}", new.status);
}

#[tokio::test]
async fn the_finalizer_is_not_removed_from_a_new_object_of_the_same_name() {
    let api = FakeApi::new();
    api.put(&another());
    api.delete::<Captain>("default", "hook");
    let reconciled = api.reconcile(|manager| register(manager, &api), "hook");
    reconciled.await.unwrap();
    let new: Captain = api.get("default", "hook").unwrap();
    assert_eq!(new.finalizers(), [FINALIZER]);
}

/// Removes the finalizers of the `ConfigMap` `map`, as it was before `meanwhile`.
async fn release(api: &FakeApi, meanwhile: fn(&FakeApi)) -> anyhow::Result<()> {
    let other = api.clone();
    let register = move |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reads(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let api = other.clone();
                async move {
                    let map = cx.get::<ConfigMap>("map")?.unwrap();
                    meanwhile(&api);
                    cx.update(&*map, |map| map.finalizers_mut().clear()).await?;
                    Ok(Action::await_change())
                }
            });
    };
    api.put(&captain("hook", ""));
    api.put(&held("old"));
    api.delete::<ConfigMap>("default", "map");
    api.reconcile(register, "hook").await?;
    Ok(())
}

fn held(text: &str) -> ConfigMap {
    let mut map = object("map", text);
    map.finalizers_mut().push(FINALIZER.to_owned());
    map
}

/// After a patch, the API server would delete whatever has the name by then.
#[tokio::test]
async fn an_update_removes_the_last_finalizer_by_a_replacement_which_carries_the_uid() {
    let api = FakeApi::new();
    release(&api, |_| ()).await.unwrap();
    assert!(api.get::<ConfigMap>("default", "map").is_none());
    let requests = api.requests();
    let writes = |verb| {
        let path = format!("{verb} /api/v1/namespaces/default/configmaps/map");
        requests
            .iter()
            .filter(move |it| it.starts_with(&path))
            .count()
    };
    assert_eq!((writes("PUT"), writes("PATCH")), (1, 0), "{requests:?}");
}

#[tokio::test]
async fn an_update_does_not_remove_the_finalizers_of_a_new_object_of_the_same_name() {
    let api = FakeApi::new();
    let replaced = release(&api, |api| {
        let mut gone: ConfigMap = api.get("default", "map").unwrap();
        gone.metadata.finalizers = None;
        api.put(&gone);
        api.delete::<ConfigMap>("default", "map");
        api.put(&held("new"));
        api.delete::<ConfigMap>("default", "map");
    });
    replaced.await.unwrap();
    let new: ConfigMap = api.get("default", "map").unwrap();
    assert_eq!(new.finalizers(), [FINALIZER]);
}
