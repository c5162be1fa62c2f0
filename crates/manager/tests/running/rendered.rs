//! Test objects of any kind, which a reconcile knows only as data.

use std::sync::Arc;

use kbr_testing::FakeApi;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    core::discovery::Scope,
};
use manager::{Action, Context, Manager};
use serde_json::{from_value, json};

use crate::support::{Captain, captain};

fn ships() -> ApiResource {
    let kind = GroupVersionKind::gvk("sea.example.com", "v1", "Ship");
    ApiResource::from_gvk_with_plural(&kind, "shipping")
}

/// A ship as a template renders it, with as many masts as the chart of the captain has characters.
fn ship(captain: &Captain) -> DynamicObject {
    let object = json!({
        "apiVersion": "sea.example.com/v1",
        "kind": "Ship",
        "metadata": {"name": "jolly-roger"},
        "spec": {"masts": captain.spec.chart.len()},
    });
    from_value(object).unwrap()
}

/// Applies the ship, or deletes it if the captain has no chart.
async fn sail(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    let (ships, ship) = (ships(), ship(&captain));
    if captain.spec.chart.is_empty() {
        cx.delete_object(&ships, &Scope::Namespaced, &ship).await?;
    } else {
        let applied = cx.apply_object(&ships, &Scope::Namespaced, &ship).await?;
        anyhow::ensure!(applied.uid().is_some(), "not returned whole");
    }
    Ok(Action::await_change())
}

/// Reconciles this captain with this chart once, with `sail`.
async fn sailed(api: &FakeApi, name: &str, chart: &str) -> anyhow::Result<Action> {
    api.put(&captain(name, chart));
    let register = |manager: &mut Manager| manager.controller("captain").reconcile(sail);
    api.reconcile(register, name).await
}

/// The stored ship, if there is one.
async fn stored(api: &FakeApi) -> Option<DynamicObject> {
    let api = Api::default_namespaced_with(api.client(), &ships());
    api.get_opt("jolly-roger").await.unwrap()
}

#[tokio::test]
async fn an_object_of_any_kind_is_applied_and_deleted_as_a_child() {
    let api = FakeApi::new();
    for chart in ["map", "atlas"] {
        sailed(&api, "hook", chart).await.unwrap();
        let ship = stored(&api).await.unwrap();
        assert_eq!(ship.data["spec"]["masts"], chart.len());
        let hook: Captain = api.get("default", "hook").unwrap();
        let owner = &ship.owner_references()[0];
        assert_eq!(
            (&owner.uid, owner.controller),
            (&hook.uid().unwrap(), Some(true))
        );
        let field_manager = ship.managed_fields()[0].manager.as_deref();
        assert_eq!(field_manager, Some("test.example.com/captain"));
    }
    for _ in 0..2 {
        sailed(&api, "hook", "").await.unwrap();
        assert!(stored(&api).await.is_none());
    }
}

#[tokio::test]
async fn an_object_of_any_kind_that_is_not_a_child_is_left_alone() {
    let api = FakeApi::new();
    sailed(&api, "hook", "map").await.unwrap();
    for (chart, end) in [("atlas", "it was not changed"), ("", "it was not deleted")] {
        let error = sailed(&api, "smee", chart).await.unwrap_err().to_string();
        let said = format!(
            "Ship `default/jolly-roger` exists and is a child of Captain `hook`; {end}\nhelp: "
        );
        assert!(error.starts_with(&said), "{error}");
    }
    assert_eq!(stored(&api).await.unwrap().data["spec"]["masts"], 3);
}

#[tokio::test]
async fn a_cluster_scoped_object_is_applied_only_without_an_owner() {
    let api = FakeApi::new();
    api.put(&captain("hook", "map"));
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller.reconcile(async |captain, cx| {
            let (ships, ship) = (ships(), ship(&captain));
            let owned = cx.apply_object(&ships, &Scope::Cluster, &ship).await;
            let error = owned.unwrap_err().to_string();
            anyhow::ensure!(error.contains("cannot own Ship `jolly-roger`"), "{error}");
            let applied = cx
                .apply_object_unowned(&ships, &Scope::Cluster, &ship)
                .await?;
            anyhow::ensure!(applied.owner_references().is_empty());
            Ok(Action::await_change())
        });
    };
    api.reconcile(register, "hook").await.unwrap();
    let stored = Api::<DynamicObject>::all_with(api.client(), &ships());
    assert!(stored.get_opt("jolly-roger").await.unwrap().is_some());
}

#[tokio::test]
async fn an_object_is_not_written_as_another_kind_than_it_names() {
    let api = FakeApi::new();
    api.put(&captain("hook", "map"));
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller.reconcile(async |captain, cx| {
            let mut ship = ship(&captain);
            ship.types.get_or_insert_default().kind = "Boat".to_owned();
            cx.apply_object(&ships(), &Scope::Namespaced, &ship).await?;
            Ok(Action::await_change())
        });
    };
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let said = "an object of the kind Boat of sea.example.com/v1 is written as a Ship of sea.example.com/v1";
    assert_eq!(error.to_string(), said);
}
