//! Test that the fields of an earlier operator are taken over.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kbr_testing::{FakeApi, eventually};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{ApiResource, ObjectMeta, PostParams},
    core::discovery::Scope,
};
use manager::{Action, Context, Manager, metadata};
use serde_json::{Value, json};

use crate::support::{Captain, Running, SOON, captain, options};

/// A child with these keys.
fn child(captain: &Captain, keys: &[&str]) -> ConfigMap {
    let data = keys.iter().map(|key| ((*key).to_owned(), "1".to_owned()));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some("map".to_owned()),
            owner_references: Some(vec![captain.controller_owner_ref(&()).unwrap()]),
            ..ObjectMeta::default()
        },
        data: Some(data.collect()),
        ..ConfigMap::default()
    }
}

/// A captain with a child, which the field manager `manager` has created with the keys `ship` and `mate`.
async fn created_in_go() -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let hook: Captain = api.get("default", "hook").unwrap();
    let params = PostParams {
        field_manager: Some("manager".to_owned()),
        ..PostParams::default()
    };
    let maps = Api::<ConfigMap>::default_namespaced(api.client());
    maps.create(&params, &child(&hook, &["ship", "mate"]))
        .await
        .unwrap();
    api
}

/// Runs an operator whose controller applies these keys, until `state` holds.
async fn run(api: &FakeApi, keys: &'static [&'static str], from: &str, state: impl Fn() -> bool) {
    let mut manager: Manager = api.manager_with(options());
    if !from.is_empty() {
        manager.take_over(from);
    }
    manager
        .controller::<Captain>("captain")
        .owns(metadata::<ConfigMap>())
        .reconcile(async |captain: Arc<Captain>, cx: Context<Captain>| {
            let mut child = child(&captain, keys);
            child.metadata.owner_references = None;
            cx.apply(&child).await?;
            Ok(Action::await_change())
        });
    let before = api.requests().len();
    let running = Running::start(manager);
    let look = async || {
        let requests = api.requests();
        let mut since = requests.iter().skip(before);
        Ok((since.any(|it| it.starts_with("PATCH")) && state()).then_some(()))
    };
    eventually(SOON, "an apply", look).await.unwrap();
    // Another reconcile would write again.
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.stop().await.unwrap();
}

/// The keys of the child, and the field managers of its entries with their operations.
async fn keys_and_owners(api: &FakeApi) -> (Vec<String>, Vec<String>) {
    let maps = Api::<ConfigMap>::default_namespaced(api.client());
    let map = maps.get("map").await.unwrap();
    let entries = map.metadata.managed_fields.unwrap();
    let owner = |entry: &ManagedFieldsEntry| {
        let (name, operation) = (entry.manager.as_deref(), entry.operation.as_deref());
        format!("{} {}", name.unwrap(), operation.unwrap())
    };
    let keys = map.data.unwrap().into_keys().collect();
    (keys, entries.iter().map(owner).collect())
}

fn version(api: &FakeApi) -> Option<String> {
    let map: Option<ConfigMap> = api.get("default", "map");
    map?.metadata.resource_version
}

#[tokio::test]
async fn a_field_of_the_earlier_operator_is_removed_once_it_is_not_applied() {
    let api = created_in_go().await;
    let has_mate = || {
        let map: ConfigMap = api.get("default", "map").unwrap();
        map.data.unwrap().contains_key("mate")
    };
    run(&api, &["ship"], "manager", || !has_mate()).await;
    let (keys, owners) = keys_and_owners(&api).await;
    assert_eq!(keys, ["ship"]);
    assert_eq!(owners.len(), 1, "{owners:?}");
    assert!(owners[0].ends_with("/captain Apply"), "{owners:?}");
}

#[tokio::test]
async fn a_takeover_of_the_same_fields_is_one_write_and_is_not_repeated() {
    let api = created_in_go().await;
    let created = version(&api);
    run(&api, &["ship", "mate"], "manager", || {
        version(&api) != created
    })
    .await;
    let patches = |api: &FakeApi| {
        let requests = api.requests();
        requests.iter().filter(|it| it.starts_with("PATCH")).count()
    };
    assert_eq!(patches(&api), 2, "{:#?}", api.requests());
    let taken_over = version(&api);
    run(&api, &["ship", "mate"], "manager", || true).await;
    assert_eq!(patches(&api), 3, "{:#?}", api.requests());
    assert_eq!(version(&api), taken_over);
}

#[tokio::test]
async fn a_child_is_shared_with_a_field_manager_that_is_not_taken_over() {
    let api = created_in_go().await;
    let created = version(&api);
    run(&api, &["ship"], "another", || version(&api) != created).await;
    let (keys, owners) = keys_and_owners(&api).await;
    assert_eq!(keys, ["mate", "ship"]);
    assert!(owners.contains(&"manager Update".to_owned()), "{owners:?}");
}

/// An operator in Go may set them when it creates a Deployment, and leave them to an autoscaler. Without a value, they would be 1.
#[tokio::test]
async fn the_replicas_of_the_earlier_operator_stay_if_they_are_not_applied() {
    let api = FakeApi::new();
    api.put(&captain("hook", ""));
    let hook: Captain = api.get("default", "hook").unwrap();
    let deployment = |labels: Value, replicas: Value| -> Deployment {
        let containers = json!([{"name": "web", "image": "web"}]);
        let deployment = json!({
            "metadata": {"name": "web", "labels": labels},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
            },
        });
        serde_json::from_value(deployment).unwrap()
    };
    let params = PostParams {
        field_manager: Some("manager".to_owned()),
        ..PostParams::default()
    };
    let mut created = deployment(json!({"old": "yes"}), json!(3));
    created
        .owner_references_mut()
        .extend(hook.controller_owner_ref(&()));
    let deployments = Api::<Deployment>::default_namespaced(api.client());
    deployments.create(&params, &created).await.unwrap();
    for (applied, replicas) in [(json!(null), 3), (json!(2), 2)] {
        let register = |manager: &mut Manager| {
            manager.take_over("manager");
            let applied = deployment(json!({}), applied);
            manager
                .controller::<Captain>("captain")
                .reconcile(move |_, cx: Context<Captain>| {
                    let applied = applied.clone();
                    async move {
                        cx.apply(&applied).await?;
                        Ok(Action::await_change())
                    }
                });
        };
        api.reconcile(register, "hook").await.unwrap();
        let web: Deployment = api.get("default", "web").unwrap();
        assert!(web.labels().is_empty(), "{:?}", web.labels());
        assert_eq!(web.spec.replicas, Some(replicas));
    }
}

#[tokio::test]
async fn a_child_that_is_not_cached_still_delays_the_deletion_of_its_owner() {
    let api = created_in_go().await;
    let mut map: ConfigMap = api.get("default", "map").unwrap();
    let owners = map.metadata.owner_references.as_mut().unwrap();
    owners[0].block_owner_deletion = Some(true);
    api.put(&map);
    for typed in [true, false] {
        let register = |manager: &mut Manager| {
            manager.controller::<Captain>("captain").reconcile(
                move |captain: Arc<Captain>, cx: Context<Captain>| async move {
                    let mut child = child(&captain, &["ship"]);
                    child.metadata.owner_references = None;
                    if typed {
                        cx.apply(&child).await?;
                    } else {
                        let kind = ApiResource::erase::<ConfigMap>(&());
                        let child = serde_json::from_value(json!(child))?;
                        cx.apply_object(&kind, &Scope::Namespaced, &child).await?;
                    }
                    Ok(Action::await_change())
                },
            );
        };
        api.reconcile(register, "hook").await.unwrap();
        let map: ConfigMap = api.get("default", "map").unwrap();
        let owners = map.metadata.owner_references.unwrap();
        assert_eq!(owners[0].block_owner_deletion, Some(true), "{typed}");
    }
}

#[tokio::test]
async fn a_child_of_the_operator_in_go_still_delays_the_deletion_of_its_owner() {
    let api = created_in_go().await;
    let mut map: ConfigMap = api.get("default", "map").unwrap();
    let owners = map.metadata.owner_references.as_mut().unwrap();
    owners[0].block_owner_deletion = Some(true);
    api.put(&map);
    let created = version(&api);
    run(&api, &["ship"], "manager", || version(&api) != created).await;
    let map: ConfigMap = api.get("default", "map").unwrap();
    let owners = map.metadata.owner_references.unwrap();
    assert_eq!(owners[0].block_owner_deletion, Some(true));
}
