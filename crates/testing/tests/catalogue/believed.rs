//! Operators without a bug, in scenarios in which a simulation might suspect them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::{CustomResource, CustomResourceExt as _, ResourceExt as _};
use manager::{Action, Context, Manager, from_json, kind, waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::kinds::{self, Reconciled, Ship, done, flag, is_quick, log, map, name, ship, ships};

/// As many histories as have a fault of each pattern on each change, and all before a release.
fn unsuspected(simulation: Simulation) {
    let simulation = if is_quick() {
        let simulation = simulation.histories(60);
        simulation.skip("failover", "it is tried before a release")
    } else {
        simulation
    };
    kinds::unsuspected(simulation);
}

fn one(register: fn(&mut Manager)) -> Simulation {
    simulate(register).object(&ship("argo"))
}

fn a_log(manager: &mut Manager) {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        done()
    }
    ships(manager).reconcile(reconcile);
}

#[test]
fn a_user_deletes_one_of_the_objects() {
    let scenario = one(a_log)
        .object(&ship("beagle"))
        .user("scraps the beagle", |api: &FakeApi| {
            api.delete::<Ship>("default", "beagle");
        });
    unsuspected(scenario);
}

#[test]
fn a_user_creates_another_object() {
    let scenario = one(a_log).user("builds the beagle", |api: &FakeApi| {
        api.put(&ship("beagle"));
    });
    unsuspected(scenario);
}

#[test]
fn a_step_needs_what_the_operator_makes() {
    let scenario = one(a_log).user("reads the log", |api: &FakeApi| {
        let log = api.get::<ConfigMap>("default", "argo-log");
        let entries = log.expect("the log is there").data.unwrap_or_default();
        api.edit::<Ship>("default", "argo", |ship| {
            ship.spec.sails = 1 + u32::try_from(entries.len()).unwrap_or_default();
        });
    });
    unsuspected(scenario);
}

#[test]
fn an_annotation_of_the_user_decides() {
    fn register(manager: &mut Manager) {
        async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
            let color = ship.annotations().get("color").cloned();
            let child = map(&name(&ship, "log"), "color", &color.unwrap_or_default());
            cx.apply(&child).await?;
            done()
        }
        ships(manager).reconcile(reconcile);
    }
    let mut argo = ship("argo");
    argo.metadata.annotations = Some(BTreeMap::from([("color".to_owned(), "red".to_owned())]));
    unsuspected(simulate(register).object(&argo));
}

/// Polls, as most operators do whose work is elsewhere.
#[test]
fn an_operator_asks_to_be_called_again_all_the_time() {
    fn register(manager: &mut Manager) {
        async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
            cx.apply(&log(&ship)).await?;
            Ok(Action::requeue(Duration::from_secs(20)))
        }
        ships(manager).reconcile(reconcile);
    }
    unsuspected(one(register));
}

/// A voyage is made once: a Job that has ended is not created again after its deletion.
#[test]
fn a_job_that_has_ended_does_not_come_back() {
    fn register(manager: &mut Manager) {
        async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
            let is_done = ship.status.as_ref().is_some_and(|it| it.phase == "Arrived");
            if is_done {
                return done();
            }
            let job = json!({
                "metadata": { "name": name(&ship, "voyage") },
                "spec": { "template": { "spec": {
                    "restartPolicy": "Never", "containers": [{ "name": "sail", "image": "sail" }],
                } } },
            });
            let job = cx.apply(&from_json::<Job>(job)?).await?;
            let succeeded = job.status.as_ref().and_then(|it| it.succeeded);
            if succeeded.unwrap_or_default() > 0 {
                cx.status(|status| status.phase = "Arrived".to_owned());
            }
            done()
        }
        ships(manager).owns(kind::<Job>()).reconcile(reconcile);
    }
    unsuspected(one(register).kubelet());
}

/// A pennant, whose colors are listed.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Pennant",
    namespaced
)]
#[kube(derive = "Default")]
pub struct PennantSpec {
    color: Color,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
enum Color {
    #[default]
    Red,
    Blue,
}

#[test]
fn a_child_has_a_field_with_listed_values() {
    fn register(manager: &mut Manager) {
        async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
            let mut pennant = Pennant::default();
            pennant.metadata.name = Some(name(&ship, &flag(&ship)));
            cx.apply(&pennant).await?;
            done()
        }
        ships(manager).owns(kind::<Pennant>()).reconcile(reconcile);
    }
    let scenario = one(register).define(&Pennant::crd());
    unsuspected(scenario.always("a pennant can be read", |api| {
        let _ = api.get::<Pennant>("default", "argo-red");
        true
    }));
}

/// The reason for which an object waits is in the story of a failure.
#[test]
fn an_object_that_waits_for_ever_says_for_what() {
    fn register(manager: &mut Manager) {
        async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
            if cx.get::<ConfigMap>(&*name(&ship, "chart"))?.is_none() {
                return Err(waiting("NoChart", "no chart of these waters found"));
            }
            done()
        }
        ships(manager).reconcile(reconcile);
    }
    let story = one(register).check().unwrap_err().to_string();
    assert!(story.contains("no chart of these waters found"), "{story}");
}
