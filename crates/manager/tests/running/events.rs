//! Test events about objects other than the one that is reconciled.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kbr_testing::FakeApi;
use manager::{Action, Context, Manager};
use serde_json::{Value, json};

use crate::support::object;

/// The events of a reconcile, without what differs each time.
async fn published(
    publish: impl Fn(&Context<ConfigMap>) + Copy + Send + Sync + 'static,
) -> Vec<Value> {
    let api = FakeApi::new();
    api.put(&object("map", ""));
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller.reconcile(move |_: Arc<ConfigMap>, cx: Context<ConfigMap>| {
            publish(&cx);
            std::future::ready(Ok(Action::await_change()))
        });
    };
    api.reconcile(register, "map").await.unwrap();
    let events = api.all_json("events").into_iter();
    let chosen = |event: Value| {
        json!({
            "namespace": event["metadata"]["namespace"],
            "action": event["action"], "reason": event["reason"], "type": event["type"],
            "regarding": [event["regarding"]["kind"], event["regarding"]["name"]],
            "related": [event["related"]["kind"], event["related"]["name"]],
        })
    };
    events.map(chosen).collect()
}

fn pod() -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some("web".to_owned());
    pod.metadata.namespace = Some("shop".to_owned());
    pod
}

fn node() -> Node {
    let mut node = Node::default();
    node.metadata.name = Some("worker".to_owned());
    node
}

#[tokio::test]
async fn an_event_can_be_about_another_object_with_an_action_and_a_related_object() {
    let events = published(|cx| {
        let event = cx.event_about(&pod()).action("Evict").related(&node());
        event.warning("Evicted", "its node is drained");
    });
    let wanted = json!({
        "namespace": "shop", "action": "Evict", "reason": "Evicted", "type": "Warning",
        "regarding": ["Pod", "web"], "related": ["Node", "worker"],
    });
    assert_eq!(events.await, [wanted]);
}

#[tokio::test]
async fn an_event_about_a_cluster_scoped_object_is_in_the_default_namespace() {
    let events = published(|cx| cx.event_about(&node()).normal("Drained", "it is empty"));
    let wanted = json!({
        "namespace": "default", "action": "Reconcile", "reason": "Drained", "type": "Normal",
        "regarding": ["Node", "worker"], "related": [null, null],
    });
    assert_eq!(events.await, [wanted]);
}

#[tokio::test]
async fn events_with_different_actions_or_related_objects_are_not_counted_as_one() {
    let events = published(|cx| {
        for _ in 0..2 {
            cx.event_about(&pod()).normal("Moved", "");
            cx.event_about(&pod()).action("Move").normal("Moved", "");
            cx.event_about(&pod()).related(&node()).normal("Moved", "");
        }
    });
    assert_eq!(events.await.len(), 3);
}
