//! The kinds of the catalogue's operators, and what their tests share.

use k8s_openapi::{
    api::core::v1::{ConfigMap, PodTemplateSpec, Service},
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector},
};
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::{
    Api, CustomResource,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use manager::{Action, Cleanup, Context, Controller, Manager, kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A ship with a crew.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Ship",
    namespaced,
    status = "ShipStatus"
)]
#[kube(derive = "Default")]
#[serde(rename_all = "camelCase", default)]
pub struct ShipSpec {
    pub sails: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShipStatus {
    pub phase: String,
    pub count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// A ship with two sails.
pub fn ship(name: &str) -> Ship {
    let mut ship = Ship::default();
    ship.metadata.name = Some(name.to_owned());
    ship.spec.sails = 2;
    ship.spec.flag = Some("red".to_owned());
    ship
}

/// A map with one entry.
pub fn map(name: &str, key: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some([(key.to_owned(), value.to_owned())].into());
    map
}

pub fn service(name: &str) -> Service {
    let mut service = Service::default();
    service.metadata.name = Some(name.to_owned());
    service
}

/// One ship, which the user gives another flag and then fewer sails.
pub fn voyage(register: fn(&mut Manager)) -> Simulation {
    simulate(register)
        .object(&ship("argo"))
        .user("changes the flag", |api: &FakeApi| {
            api.edit::<Ship>("default", "argo", |ship| {
                ship.spec.flag = Some("blue".to_owned());
            });
        })
        .user("takes down a sail", |api: &FakeApi| {
            api.edit::<Ship>("default", "argo", |ship| ship.spec.sails = 1);
        })
}

/// The buggy operator is found, and its repaired twin is clean.
#[track_caller]
pub fn pair(buggy: fn(&mut Manager), repaired: fn(&mut Manager)) {
    pair_in(buggy, repaired, voyage);
}

/// The same, in a scenario of its own.
#[track_caller]
pub fn pair_in(
    buggy: fn(&mut Manager),
    repaired: fn(&mut Manager),
    scenario: fn(fn(&mut Manager)) -> Simulation,
) {
    let story = found(scenario(buggy));
    let twin = scenario(repaired).histories(histories());
    // A failover takes five times as long as other faults.
    let twin = if is_quick() && !story.contains("failover:") {
        twin.skip("failover", "it is tried before a release")
    } else {
        twin
    };
    unsuspected(twin);
}

/// The story of an operator with a bug.
#[track_caller]
pub fn found(buggy: Simulation) -> String {
    let story = match buggy.check() {
        Ok(summary) => panic!("the bug was not found\n{summary}"),
        Err(story) => story.to_string(),
    };
    println!("{story}\n");
    story
}

/// An operator without a bug has no story.
#[track_caller]
pub fn unsuspected(simulation: Simulation) {
    match simulation.check() {
        Ok(summary) => println!("{summary}"),
        Err(story) => panic!("it is suspected: {story}"),
    }
}

/// An operator without a bug is clean.
#[track_caller]
pub fn clean(simulation: Simulation) {
    let simulation = simulation.histories(histories());
    let simulation = if is_quick() {
        simulation.skip("failover", "it is tried before a release")
    } else {
        simulation
    };
    unsuspected(simulation);
}

/// How many histories a twin has: 300 before a release, as by default, and fewer for each change.
pub fn histories() -> usize {
    let given = std::env::var("KBR_HISTORIES").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(8)
}

/// Whether this is for each change, and not before a release.
pub fn is_quick() -> bool {
    std::env::var_os("KBR_HISTORIES").is_none()
}

/// An API without the library around it, as the buggy operators use it.
pub fn raw<K>(cx: &Context<Ship>) -> Api<K>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(cx.client(), cx.namespace().unwrap_or_default())
}

/// Writes the status at once, rather than at the end of the reconcile.
pub async fn write_status(cx: &Context<Ship>, status: &Value) -> kube::Result<()> {
    let patch = Patch::Merge(json!({ "status": status }));
    let params = PatchParams::default();
    raw::<Ship>(cx)
        .patch_status(cx.name(), &params, &patch)
        .await?;
    Ok(())
}

/// The controller of ships, which owns maps and sees them whole.
pub fn ships(manager: &mut Manager) -> Controller<'_, Ship> {
    manager.controller::<Ship>("ship").owns(kind::<ConfigMap>())
}

/// A selector, and the Pods that it selects.
pub fn pods_of(name: &str) -> (LabelSelector, PodTemplateSpec) {
    let labels = json!({ "app": name });
    let selector = json!({ "matchLabels": labels });
    let containers = json!([{ "name": "sail", "image": "sail" }]);
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
    let typed = (
        serde_json::from_value(selector),
        serde_json::from_value(template),
    );
    (typed.0.unwrap(), typed.1.unwrap())
}

/// The map of a ship, with its flag.
pub fn log(ship: &Ship) -> ConfigMap {
    map(&name(ship, "log"), "flag", &flag(ship))
}

pub fn flag(ship: &Ship) -> String {
    ship.spec.flag.clone().unwrap_or_default()
}

/// The name of something that belongs to a ship.
pub fn name(ship: &Ship, what: &str) -> String {
    let name = ship.metadata.name.as_deref().unwrap_or_default();
    format!("{name}-{what}")
}

pub type Reconciled = anyhow::Result<Action>;

/// The result of a clean-up.
pub type CleanedUp = anyhow::Result<Cleanup>;

#[expect(clippy::unnecessary_wraps, reason = "it is the end of reconciles")]
pub fn done() -> Reconciled {
    Ok(Action::await_change())
}
