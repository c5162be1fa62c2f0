//! Test one reconcile from the user's view, on the fake API server.

mod finalizer;

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kbr_testing::{FakeApi, is_ready, reason};
use kube::{CustomResource, ResourceExt, api::ObjectMeta};
use manager::{Action, Cleanup, ConditionStatus, Context, Manager, kind, metadata};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus"
)]
struct CaptainSpec {
    /// What the reconcile shall do.
    order: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CaptainStatus {
    #[serde(default)]
    ships: i32,
    #[serde(default)]
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
}

const FINALIZER: &str = "crew.example.com/captain";
const CAPTAIN: &str = "default/hook";

fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .owns(kind::<ConfigMap>())
        .owns(metadata::<Secret>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, cleanup)
        .reconcile(reconcile);
}

async fn reconcile(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
    cx.status(|status| status.ships = 3);
    match captain.spec.order.as_str() {
        "fail" => anyhow::bail!("no wind"),
        "panic" => panic!("a kraken"),
        "nameless" => drop(cx.apply(&ConfigMap::default()).await?),
        "map" => {
            cx.apply(&ConfigMap {
                metadata: named("hook", None),
                ..ConfigMap::default()
            })
            .await?;
        }
        "elsewhere" => {
            cx.apply(&ConfigMap {
                metadata: named("hook", Some("elsewhere")),
                ..ConfigMap::default()
            })
            .await?;
        }
        "event" => cx.warning("Storm", "the sea is rough"),
        "condition" => cx.condition("Wind", ConditionStatus::Unknown, "Calm", "no wind"),
        _ => {}
    }
    cx.ready("Sailing", "all is well");
    Ok(Action::await_change())
}

async fn cleanup(captain: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Cleanup> {
    match captain.spec.order.as_str() {
        "fail" => anyhow::bail!("no harbour"),
        "linger" => Ok(Cleanup::Again(std::time::Duration::from_secs(5))),
        _ => {
            cx.event("Gone", "fare well");
            Ok(Cleanup::Done)
        }
    }
}

fn named(name: &str, namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    }
}

fn captain(order: &str) -> Captain {
    let order = order.to_owned();
    Captain::new("hook", CaptainSpec { order })
}

/// A captain with our finalizer that is being deleted.
fn deleted(api: &FakeApi, order: &str) {
    let mut captain = captain(order);
    captain.finalizers_mut().push(FINALIZER.to_owned());
    api.put(&captain);
    api.delete::<Captain>("default", "hook");
}

fn stored(api: &FakeApi) -> Captain {
    api.get("default", "hook").expect("the captain is there")
}

fn status(api: &FakeApi) -> CaptainStatus {
    stored(api).status.expect("the captain has a status")
}

#[tokio::test]
async fn the_status_is_written_once_with_all_conditions_and_fields() {
    let api = FakeApi::new();
    api.put(&captain("condition"));
    let action = api.reconcile(register, CAPTAIN).await.unwrap();
    assert_eq!(action, Action::await_change());
    let status = status(&api);
    assert_eq!((status.ships, status.observed_generation), (3, Some(1)));
    assert!(is_ready(&status.conditions));
    assert_eq!(reason(&status.conditions, "Wind"), Some("Calm"));
    let writes = api.requests();
    let writes = writes.iter().filter(|request| request.ends_with("/status"));
    assert_eq!(writes.count(), 1);
}

#[tokio::test]
async fn an_unchanged_status_is_not_written_again() {
    let api = FakeApi::new();
    api.put(&captain(""));
    api.reconcile(register, CAPTAIN).await.unwrap();
    let version = stored(&api).resource_version();
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert_eq!(stored(&api).resource_version(), version);
    let writes = api.requests();
    let writes = writes.iter().filter(|request| !request.starts_with("GET"));
    // The finalizer, and the status.
    assert_eq!(writes.count(), 2);
}

#[tokio::test]
async fn concurrent_status_changes_by_another_writer_are_kept() {
    fn register(manager: &mut Manager, api: FakeApi) {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(move |mut captain: Arc<Captain>, cx: Context<Captain>| {
                let api = api.clone();
                async move {
                    let theirs = Condition {
                        type_: "Theirs".to_owned(),
                        status: "True".to_owned(),
                        reason: "Meanwhile".to_owned(),
                        message: String::new(),
                        observed_generation: None,
                        last_transition_time: Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH),
                    };
                    let captain = Arc::make_mut(&mut captain);
                    captain.status.get_or_insert_default().conditions = vec![theirs];
                    api.put(captain);
                    cx.ready("Sailing", "all is well");
                    Ok(Action::await_change())
                }
            });
    }
    let api = FakeApi::new();
    api.put(&captain(""));
    let other = api.clone();
    api.reconcile(|manager| register(manager, other), CAPTAIN)
        .await
        .unwrap();
    let status = status(&api);
    assert!(is_ready(&status.conditions));
    assert_eq!(reason(&status.conditions, "Theirs"), Some("Meanwhile"));
}

#[tokio::test]
async fn a_failure_is_added_to_the_status_that_the_reconcile_set() {
    let api = FakeApi::new();
    api.put(&captain("fail"));
    let error = api.reconcile(register, CAPTAIN).await.unwrap_err();
    assert_eq!(error.to_string(), "no wind");
    let status = status(&api);
    assert_eq!(reason(&status.conditions, "Ready"), Some("ReconcileFailed"));
    assert_eq!(
        (status.conditions[0].message.as_str(), status.ships),
        ("no wind", 3)
    );
}

#[tokio::test]
async fn a_panic_is_added_to_the_status_without_partial_changes() {
    let api = FakeApi::new();
    api.put(&captain("panic"));
    let error = api.reconcile(register, CAPTAIN).await.unwrap_err();
    assert_eq!(error.to_string(), "panicked: a kraken");
    let status = status(&api);
    assert_eq!(reason(&status.conditions, "Ready"), Some("ReconcileFailed"));
    assert_eq!(status.ships, 0);
}

#[tokio::test]
async fn a_child_has_an_owner_reference_and_the_namespace_of_its_owner() {
    let api = FakeApi::new();
    api.put(&captain("map"));
    api.reconcile(register, CAPTAIN).await.unwrap();
    let child: ConfigMap = api.get("default", "hook").unwrap();
    let owner = &child.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("Captain", Some(true))
    );
    assert_eq!(Some(&owner.uid), stored(&api).uid().as_ref());
}

#[tokio::test]
async fn an_object_without_an_owner_is_not_taken_over() {
    let api = FakeApi::new();
    api.put(&captain("map"));
    api.put(&ConfigMap {
        metadata: named("hook", None),
        ..ConfigMap::default()
    });
    let error = api
        .reconcile(register, CAPTAIN)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("ConfigMap `default/hook` exists and has no owner; it was not changed"),
        "{error}"
    );
    assert!(
        api.get::<ConfigMap>("default", "hook")
            .unwrap()
            .owner_references()
            .is_empty()
    );
}

#[tokio::test]
async fn an_uncached_object_of_another_owner_is_not_taken_over() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reconcile(async |_, cx: Context<Captain>| {
                let metadata = named("hook", None);
                cx.apply(&Secret {
                    metadata,
                    ..Secret::default()
                })
                .await?;
                Ok(Action::await_change())
            });
    };
    let api = FakeApi::new();
    api.put(&captain(""));
    api.reconcile(register, CAPTAIN).await.unwrap();
    // It is our child now.
    api.reconcile(register, CAPTAIN).await.unwrap();
    let mut theirs: Secret = api.get("default", "hook").unwrap();
    theirs.owner_references_mut()[0].uid = "another".to_owned();
    theirs.owner_references_mut()[0].name = "ahab".to_owned();
    api.put(&theirs);
    let error = api.reconcile(register, CAPTAIN).await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("exists and is a child of Captain `ahab`"),
        "{error}"
    );
}

#[tokio::test]
async fn an_invalid_child_is_rejected_before_it_is_sent() {
    let api = FakeApi::new();
    for (order, said) in [
        (
            "elsewhere",
            "an owner with a namespace owns only what is in it",
        ),
        ("nameless", "a ConfigMap without a name cannot be applied"),
    ] {
        api.put(&captain(order));
        let error = api
            .reconcile(register, CAPTAIN)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
    assert!(api.all_json("configmaps").is_empty());
}

#[tokio::test]
async fn events_are_published_on_the_object() {
    let api = FakeApi::new();
    api.put(&captain("event"));
    api.reconcile(register, CAPTAIN).await.unwrap();
    let event = &api.all_json("events")[0];
    assert_eq!(
        (&event["type"], &event["reason"]),
        (&"Warning".into(), &"Storm".into())
    );
    assert_eq!(event["regarding"]["name"], "hook");
    assert_eq!(event["reportingController"], "test.example.com/captain");
}

#[tokio::test]
async fn a_condition_without_an_accessor_is_an_error_with_help() {
    let api = FakeApi::new();
    api.put(&captain(""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reconcile(reconcile);
    };
    let error = api
        .reconcile(register, CAPTAIN)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("help: add `.conditions("), "{error}");
}

#[tokio::test]
async fn a_cluster_scoped_built_in_kind_can_be_reconciled() {
    let api = FakeApi::new();
    api.put(&Namespace {
        metadata: named("sea", None),
        ..Namespace::default()
    });
    let register = |manager: &mut Manager| {
        manager
            .controller::<Namespace>("namespace")
            .owns(metadata::<ConfigMap>())
            .reconcile(async |namespace: Arc<Namespace>, cx: Context<Namespace>| {
                let metadata = named("chart", Some(&namespace.name_any()));
                cx.apply(&ConfigMap {
                    metadata,
                    ..ConfigMap::default()
                })
                .await?;
                Ok(Action::await_change())
            });
    };
    api.reconcile(register, "sea").await.unwrap();
    let chart: ConfigMap = api.get("sea", "chart").unwrap();
    assert_eq!(chart.owner_references()[0].name, "sea");
}

#[tokio::test]
async fn two_controllers_with_the_same_name_are_rejected() {
    let mut manager = FakeApi::new().manager();
    register(&mut manager);
    register(&mut manager);
    let error = manager.run().await.unwrap_err().to_string();
    assert!(error.contains("two controllers `captain`"), "{error}");
}
