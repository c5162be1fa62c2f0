//! Test children that change after the cache has last seen them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::FakeApi;
use kube::{Resource, ResourceExt};
use manager::{Action, Context, Manager, metadata};

use crate::support::{Captain, captain, object};

/// The `ConfigMap` that each captain applies.
const CHILD: &str = "map";

/// Reconciles a captain that applies its child. `meanwhile` runs before, unseen by the cache, in every reconcile.
async fn apply(api: &FakeApi, meanwhile: fn(&FakeApi)) -> anyhow::Result<()> {
    let server = api.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller.owns(metadata::<ConfigMap>()).reconcile(
            move |captain: Arc<Captain>, cx: Context<Captain>| {
                // Nothing runs in between, so the watch cannot deliver it.
                meanwhile(&server);
                async move {
                    cx.apply(&object(CHILD, &captain.spec.chart)).await?;
                    Ok(Action::await_change())
                }
            },
        );
    };
    api.reconcile(register, "hook").await.map(drop)
}

fn hook(chart: &str) -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("hook", chart));
    api
}

fn child(api: &FakeApi) -> ConfigMap {
    api.get("default", CHILD).unwrap()
}

fn text(api: &FakeApi) -> String {
    child(api).data.unwrap_or_default()["text"].clone()
}

/// The requests about the child.
fn requests(api: &FakeApi) -> Vec<String> {
    let requests = api.requests().into_iter();
    let about = requests.filter(|request| request.ends_with("/configmaps/map"));
    about
        .map(|request| request.split(' ').next().unwrap().to_owned())
        .collect()
}

fn put_theirs(api: &FakeApi) {
    api.put(&object(CHILD, "theirs"));
}

fn put_ours(api: &FakeApi) {
    let owner: Captain = api.get("default", "hook").unwrap();
    let mut ours = object(CHILD, "ours");
    ours.owner_references_mut()
        .extend(owner.controller_owner_ref(&()));
    api.put(&ours);
}

fn delete(api: &FakeApi) {
    api.delete::<ConfigMap>("default", CHILD);
}

#[tokio::test]
async fn a_child_that_does_not_exist_is_created_by_one_request() {
    let api = hook("new");
    apply(&api, |_| ()).await.unwrap();
    assert_eq!(
        (text(&api).as_str(), requests(&api)),
        ("new", vec!["PATCH".to_owned()])
    );
}

#[tokio::test]
async fn an_object_of_others_that_the_cache_has_not_seen_is_not_taken_over() {
    let api = hook("new");
    let error = apply(&api, put_theirs).await.unwrap_err().to_string();
    let said = "ConfigMap `default/map` exists and has no owner; it was not changed";
    assert!(error.starts_with(said), "{error}");
    assert_eq!(
        (text(&api).as_str(), child(&api).owner_references().len()),
        ("theirs", 0)
    );
}

#[tokio::test]
async fn a_child_that_the_cache_has_not_seen_is_applied() {
    let api = hook("new");
    apply(&api, put_ours).await.unwrap();
    assert_eq!(text(&api), "new");
    assert_eq!(child(&api).owner_references().len(), 1);
}

#[tokio::test]
async fn an_object_of_others_that_has_replaced_a_child_is_not_taken_over() {
    let api = hook("old");
    apply(&api, |_| ()).await.unwrap();
    api.put(&captain("hook", "new"));
    let replaced = apply(&api, |api| {
        delete(api);
        put_theirs(api);
    });
    let error = replaced.await.unwrap_err().to_string();
    assert!(
        error.contains("exists and has no owner; it was not changed"),
        "{error}"
    );
    assert_eq!(text(&api), "theirs");
}

#[tokio::test]
async fn a_child_that_others_have_deleted_or_replaced_is_applied_again() {
    for meanwhile in [delete as fn(&FakeApi), |api| {
        delete(api);
        put_ours(api);
    }] {
        let api = hook("old");
        apply(&api, |_| ()).await.unwrap();
        api.put(&captain("hook", "new"));
        apply(&api, meanwhile).await.unwrap();
        assert_eq!(text(&api), "new");
    }
}
