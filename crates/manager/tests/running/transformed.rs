//! Test writes of objects that a controller does not know whole: their cache drops parts of them, or their type lacks fields.

use std::sync::Arc;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Pod},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kbr_testing::FakeApi;
use kube::CustomResource;
use manager::{Action, Context, Manager, ext::http, kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Captain, Said, captain, object};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Convoy",
    namespaced,
    status = "ConvoyStatus"
)]
struct ConvoySpec {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ships: Vec<Ship>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConvoyStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<Ship>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
struct Ship {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cargo: Option<String>,
}

fn ship(name: &str) -> Ship {
    Ship {
        name: name.to_owned(),
        cargo: Some(format!("of {name}")),
    }
}

fn light(name: &str) -> Ship {
    let name = name.to_owned();
    Ship { name, cargo: None }
}

/// A convoy with a ship of others, and one of ours.
fn convoy() -> FakeApi {
    let api = FakeApi::new();
    let ships = vec![ship("theirs"), ship("ours")];
    let mut convoy = Convoy::new(
        "north",
        ConvoySpec {
            ships: ships.clone(),
        },
    );
    let condition = json!({
        "type": "Theirs", "status": "True", "reason": "A", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    convoy.status = Some(ConvoyStatus {
        seen: ships,
        conditions: vec![serde_json::from_value(condition).unwrap()],
        observed_generation: None,
    });
    api.put(&convoy);
    api
}

/// Leaves no more than what the controller reads: its own ships, without their cargo, and its own conditions.
fn transform(convoy: &mut Convoy) {
    let only_ours = |ships: &mut Vec<Ship>| {
        ships.retain(|ship| ship.name == "ours");
        for ship in ships {
            ship.cargo = None;
        }
    };
    only_ours(&mut convoy.spec.ships);
    if let Some(status) = &mut convoy.status {
        only_ours(&mut status.seen);
        status.conditions.retain(|one| one.type_ != "Theirs");
    }
}

async fn reconciled<R>(
    api: &FakeApi,
    reconcile: impl Fn(Arc<Convoy>, Context<Convoy>) -> R + Send + Sync + 'static,
) -> Convoy
where
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    let register = |manager: &mut Manager| {
        manager.cache::<Convoy>().transform(transform);
        manager
            .controller::<Convoy>("convoy")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(reconcile);
    };
    api.reconcile(register, "north").await.unwrap();
    api.get("default", "north").unwrap()
}

#[tokio::test]
async fn an_update_of_a_list_keeps_what_the_cache_has_dropped() {
    let api = convoy();
    let convoy = reconciled(&api, async |convoy: Arc<Convoy>, cx: Context<Convoy>| {
        assert_eq!(convoy.spec.ships, [light("ours")]);
        let add = |convoy: &mut Convoy| convoy.spec.ships.push(light("new"));
        cx.update(&*convoy, add).await?;
        Ok(Action::await_change())
    });
    let ships = convoy.await.spec.ships;
    assert_eq!(ships, [ship("theirs"), ship("ours"), light("new")]);

    let convoy = reconciled(&api, async |convoy: Arc<Convoy>, cx: Context<Convoy>| {
        let remove = |convoy: &mut Convoy| convoy.spec.ships.retain(|ship| ship.name != "ours");
        cx.update(&*convoy, remove).await?;
        Ok(Action::await_change())
    });
    assert_eq!(convoy.await.spec.ships, [ship("theirs"), light("new")]);
}

#[tokio::test]
async fn an_update_that_empties_a_list_removes_only_what_it_knows() {
    let api = convoy();
    let convoy = reconciled(&api, async |convoy: Arc<Convoy>, cx: Context<Convoy>| {
        let remove = |convoy: &mut Convoy| convoy.spec.ships.retain(|ship| ship.name != "ours");
        cx.update(&*convoy, remove).await?;
        Ok(Action::await_change())
    });
    assert_eq!(convoy.await.spec.ships, [ship("theirs")]);
}

#[tokio::test]
async fn a_status_keeps_the_elements_of_lists_that_the_cache_has_dropped() {
    let api = convoy();
    let convoy = reconciled(&api, async |_, cx: Context<Convoy>| {
        cx.status(|status| status.seen.push(light("new")));
        cx.ready("Sailing", "all is well");
        Ok(Action::await_change())
    });
    let status = convoy.await.status.unwrap();
    let kinds: Vec<_> = status.conditions.iter().map(|one| &*one.type_).collect();
    assert_eq!(kinds, ["Theirs", "Ready"]);
    assert_eq!(status.seen, [ship("theirs"), ship("ours"), light("new")]);

    let convoy = reconciled(&api, async |_, cx: Context<Convoy>| {
        cx.status(|status| status.seen.clear());
        Ok(Action::await_change())
    });
    // The cache knows nothing of what others and the reconcile before have added.
    let seen = convoy.await.status.unwrap().seen;
    assert_eq!(seen, [ship("theirs"), light("new")]);
}

#[tokio::test]
async fn the_same_child_applied_twice_is_returned_whole() {
    let (api, said) = (FakeApi::new(), Said::default());
    api.put(&captain("hook", ""));
    let saying = said.clone();
    let register = move |manager: &mut Manager| {
        manager
            .cache::<ConfigMap>()
            .transform(|map| map.data = None);
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .reconcile(move |_, cx: Context<Captain>| {
                let said = saying.clone();
                async move {
                    for _ in 0..2 {
                        let map = cx.apply(&object("map", "text")).await?;
                        anyhow::ensure!(map.data == object("", "text").data, "not whole");
                    }
                    said.say("applied");
                    Ok(Action::await_change())
                }
            });
    };
    let mut run = api.run(register).unwrap();
    // Its creation triggers another reconcile.
    said.heard_times("applied", 2).await;
    run.idle().await.unwrap();
    let requests = api.requests();
    let writes = requests.iter().filter(|it| it.starts_with("PATCH"));
    assert_eq!(writes.count(), 1, "{requests:?}");
}

/// The API server may be newer than the operator.
#[tokio::test]
async fn an_update_of_a_list_keeps_fields_that_the_type_does_not_know() {
    let api = FakeApi::new();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [
            {"name": "a", "image": "a", "newer": 1}, {"name": "b", "image": "b", "newer": {"x": [1]}},
        ]},
    });
    let create = http::Request::post("/api/v1/namespaces/default/pods")
        .header("content-type", "application/json")
        .body(pod.to_string().into_bytes());
    let _: Value = api.client().request(create.unwrap()).await.unwrap();
    let register = |manager: &mut Manager| {
        let controller = manager.controller::<Pod>("pod");
        controller.reconcile(async |pod: Arc<Pod>, cx: Context<Pod>| {
            let change = |pod: &mut Pod| {
                let containers = &mut pod.spec.get_or_insert_default().containers;
                containers[0].image = Some("c".to_owned());
            };
            cx.update(&*pod, change).await?;
            Ok(Action::await_change())
        });
    };
    api.reconcile(register, "web").await.unwrap();
    let containers = json!([
        {"name": "a", "image": "c", "newer": 1}, {"name": "b", "image": "b", "newer": {"x": [1]}},
    ]);
    assert_eq!(api.all_json("pods")[0]["spec"]["containers"], containers);
}
