//! Tests a controller of kube's own runtime, which knows nothing of kbr: as a user of this crate does.

use std::{sync::Arc, time::Duration};

use apiserver_fake::ApiServer;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, CustomResourceExt as _, Resource as _, ResourceExt as _,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{Event, finalizer},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A ship, whose crew is listed in a `ConfigMap`.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Ship",
    namespaced,
    status = "ShipStatus"
)]
struct ShipSpec {
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    sailors: i32,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct ShipStatus {
    ready: bool,
}

fn one() -> i32 {
    1
}

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn reconcile(
    ship: Arc<Ship>,
    client: Arc<Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let ships: Api<Ship> = Api::namespaced((*client).clone(), "default");
    finalizer(
        &ships,
        "crew.example.com/ship",
        ship,
        async |event| match event {
            Event::Apply(ship) => sail(&ship, &client).await,
            Event::Cleanup(_) => Ok(Action::await_change()),
        },
    )
    .await
}

async fn sail(ship: &Ship, client: &Client) -> Result<Action, kube::Error> {
    let name = ship.name_any();
    let crew = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{name}-crew"), "ownerReferences": [ship.controller_owner_ref(&())]},
        "data": {"sailors": ship.spec.sailors.to_string()},
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let ours = PatchParams::apply("ships").force();
    maps.patch(&format!("{name}-crew"), &ours, &Patch::Apply(crew))
        .await?;
    let ships: Api<Ship> = Api::namespaced(client.clone(), "default");
    let status = json!({"status": {"ready": true}});
    ships
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(Action::await_change())
}

/// Runs the controller until the test ends.
fn run(client: Client) {
    let ships: Api<Ship> = Api::namespaced(client.clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let controller = Controller::new(ships, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(10)),
            Arc::new(client),
        );
    tokio::spawn(controller.for_each(async |_| ()));
}

fn ship(spec: &serde_json::Value) -> serde_json::Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Ship", "metadata": {"name": "argo"}, "spec": spec})
}

/// Waits until a value is there.
async fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("{what}: not within a minute"))
}

#[tokio::test]
async fn a_plain_controller_keeps_its_child_its_status_and_its_finalizer() -> Result<(), Error> {
    let server = ApiServer::new();
    server.define(&Ship::crd());
    run(server.client());
    let ships: Api<Ship> = Api::default_namespaced(server.client());
    let argo: Ship = serde_json::from_value(ship(&json!({"sailors": 3})))?;
    ships
        .create(&kube::api::PostParams::default(), &argo)
        .await?;
    let crew = || server.get::<ConfigMap>("default", "argo-crew");
    let sailors = |count: &'static str| {
        move |map: ConfigMap| {
            map.data
                .is_some_and(|data| data["sailors"] == count)
                .then_some(())
        }
    };
    eventually("a child", || crew().and_then(sailors("3"))).await;
    eventually("a status", || {
        let ship = server.get::<Ship>("default", "argo")?;
        ship.status.filter(|status| status.ready)
    })
    .await;

    // The user changes the object; someone deletes the child.
    server.edit::<Ship>("default", "argo", |ship| ship.spec.sailors = 5);
    eventually("another child", || crew().and_then(sailors("5"))).await;
    server.delete::<ConfigMap>("default", "argo-crew");
    eventually("the child again", || crew().and_then(sailors("5"))).await;

    // The finalizer is removed, and the garbage collector takes the child.
    server.delete::<Ship>("default", "argo");
    eventually("the end", || {
        server
            .get::<Ship>("default", "argo")
            .is_none()
            .then_some(())
    })
    .await;
    eventually("the end of the child", || crew().is_none().then_some(())).await;
    Ok(())
}

#[tokio::test]
async fn what_the_schema_rejects_is_rejected_in_the_words_of_the_api_server() {
    let server = ApiServer::new();
    server.define(&Ship::crd());
    let ships: Api<Ship> = Api::default_namespaced(server.client());
    let mut ship = Ship::new("argo", ShipSpec { sailors: 0 });
    ship.metadata = ObjectMeta {
        name: Some("argo".to_owned()),
        ..ObjectMeta::default()
    };
    let error = ships
        .create(&kube::api::PostParams::default(), &ship)
        .await
        .unwrap_err();
    let expected =
        "spec.sailors: Invalid value: 0: spec.sailors in body should be greater than or equal to 1";
    assert!(error.to_string().contains(expected), "{error}");
}
