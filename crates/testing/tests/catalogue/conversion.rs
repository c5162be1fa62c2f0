//! A kind with two versions, which the operator converts: the API server of a simulation asks it whenever someone reads or writes an
//! object in the version that is not stored. Source: the API conventions, which ask for conversions that lose nothing.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::{CustomResourceExt as _, core::crd::merge_crds};
use manager::{Context, Manager};
use serde_json::{Value, json};

use crate::kinds::{Reconciled, Ship, done, map, name, pair_in, ship, ships};

/// A ship as it was once described, without a number of sails; its conversion keeps that in an annotation, or loses it.
macro_rules! old_ship {
    ($module:ident, keeps: $keeps:literal) => {
        mod $module {
            use kube::CustomResource;
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            use crate::kinds;

            const SAILS: &str = "crew.example.com/sails";

            #[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
            #[kube(
                group = "crew.example.com",
                version = "v1alpha1",
                kind = "Ship",
                namespaced,
                status = "kinds::ShipStatus"
            )]
            #[kube(derive = "Default")]
            #[serde(default)]
            pub struct ShipSpec {
                #[serde(skip_serializing_if = "Option::is_none")]
                pub colors: Option<String>,
            }

            impl From<kinds::Ship> for Ship {
                fn from(ship: kinds::Ship) -> Self {
                    let mut metadata = ship.metadata;
                    if $keeps {
                        let kept = metadata.annotations.get_or_insert_default();
                        kept.insert(SAILS.to_owned(), ship.spec.sails.to_string());
                    }
                    let colors = ship.spec.flag;
                    Self {
                        metadata,
                        spec: ShipSpec { colors },
                        status: ship.status,
                    }
                }
            }

            impl From<Ship> for kinds::Ship {
                fn from(old: Ship) -> Self {
                    let mut ship = kinds::ship("");
                    ship.metadata = old.metadata;
                    let kept = ship.metadata.annotations.as_mut();
                    let sails = kept.and_then(|kept| kept.remove(SAILS));
                    ship.spec.sails = sails.and_then(|sails| sails.parse().ok()).unwrap_or(1);
                    ship.spec.flag = old.spec.colors;
                    ship.status = old.status;
                    ship
                }
            }
        }
    };
}

old_ship!(old, keeps: true);
old_ship!(forgetful, keeps: false);

/// The log of a ship says how many sails it has.
async fn write_log(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    let sails = ship.spec.sails.to_string();
    cx.apply(&map(&name(&ship, "log"), "sails", &sails)).await?;
    done()
}

fn converting(manager: &mut Manager) {
    manager.spoke::<Ship, old::Ship>();
    ships(manager).reconcile(write_log);
}

fn forgetting(manager: &mut Manager) {
    manager.spoke::<Ship, forgetful::Ship>();
    ships(manager).reconcile(write_log);
}

/// The definition of ships, which are stored in version 1.
fn definition() -> Value {
    let crds = vec![old::Ship::crd(), Ship::crd()];
    let crd = merge_crds(crds, "v1").expect("two versions of a kind");
    let mut crd = serde_json::to_value(crd).expect("a definition as JSON");
    crd["spec"]["conversion"] = json!({"strategy": "Webhook"});
    crd
}

/// One ship, which someone reads in the old version and writes back.
fn voyage(register: fn(&mut Manager)) -> Simulation {
    let simulation = simulate(register).define(&definition());
    simulation.object(&ship("argo")).histories(60)
}

#[test]
fn a_conversion_that_loses_a_field() {
    pair_in(forgetting, converting, voyage);
}

#[test]
fn the_story_of_a_lost_field_names_the_version_and_the_field() {
    let story = voyage(forgetting).check().unwrap_err().to_string();
    assert!(story.contains("in version v1alpha1"), "{story}");
    assert!(story.contains("sails"), "{story}");
}

#[test]
fn objects_are_written_and_read_in_any_version() {
    let mut argo = old::Ship::default();
    argo.metadata.name = Some("argo".to_owned());
    argo.spec.colors = Some("red".to_owned());
    let simulation = simulate(converting).define(&definition()).object(&argo);
    let summary = simulation
        .user("changes the colors", |api: &FakeApi| {
            api.edit::<old::Ship>("default", "argo", |ship| {
                ship.spec.colors = Some("blue".to_owned());
            });
        })
        .always("each version shows the same flag", |api| {
            let flags = api.all::<Ship>().into_iter().map(|ship| ship.spec.flag);
            let colors = api.all::<old::Ship>().into_iter();
            flags.eq(colors.map(|ship| ship.spec.colors))
        })
        .always("the operator sees the sails of an old ship", |api| {
            let mut logs = api.all::<ConfigMap>().into_iter();
            logs.all(|log| log.data.unwrap_or_default()["sails"] == "1")
        })
        .skip("by hand", "someone may change the log")
        .histories(30)
        .check()
        .unwrap();
    assert!(summary.patterns["converted"] > 0, "{summary}");
}
