//! Kinds with rules in CEL: what their definitions reject, neither the operator nor the user can write.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::CustomResourceExt;
use manager::{Context, Manager};
use serde_json::{Value, json};

use crate::kinds::{
    Reconciled, Ship, clean, done, flag, log, map, name, pair_in, ship, ships, voyage,
};

/// The definition of ships, with rules on a part of its schema.
fn ruled(part: &str, rules: Value) -> Value {
    let mut crd = serde_json::to_value(Ship::crd()).unwrap();
    let schema = format!("/spec/versions/0/schema/openAPIV3Schema/properties/{part}");
    crd.pointer_mut(&schema).unwrap()["x-kubernetes-validations"] = rules;
    crd
}

/// Derives a field of the status, which cannot be changed, from one that the user changes.
#[test]
fn an_immutable_field_is_changed() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let what = if BUGGY {
            flag(&ship)
        } else {
            "berth".to_owned()
        };
        let berth = name(&ship, &what);
        cx.status(|status| status.chosen = Some(berth));
        done()
    }
    fn sailing(register: fn(&mut Manager)) -> Simulation {
        let immutable = json!([{"rule": "self == oldSelf", "message": "cannot be changed"}]);
        voyage(register).define(&ruled("status/properties/chosen", immutable))
    }
    let buggy = |manager: &mut Manager| ships(manager).reconcile(reconcile::<true>);
    let repaired = |manager: &mut Manager| ships(manager).reconcile(reconcile::<false>);
    pair_in(buggy, repaired, sailing);
    let story = sailing(buggy).check().unwrap_err().to_string();
    assert!(
        story.contains("the status of ships.crew.example.com default/argo: 422"),
        "{story}"
    );
    assert!(
        voyage(buggy).histories(1).check().is_ok(),
        "found without the rule"
    );
}

/// A flag, once there is one, stays: its map may outlive a user who would like to take it down.
#[test]
fn what_the_user_cannot_take_back_is_not_tried() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if ship.spec.flag.is_some() {
            cx.apply(&log(&ship)).await?;
        }
        done()
    }
    let stays =
        json!([{"rule": "!has(oldSelf.flag) || has(self.flag) && self.flag == oldSelf.flag"}]);
    let mut bare = ship("argo");
    bare.spec.flag = None;
    let register = |manager: &mut Manager| ships(manager).reconcile(reconcile);
    let simulation = simulate(register)
        .object(&bare)
        .define(&ruled("spec", stays));
    clean(simulation.user("hoists a flag", |api: &FakeApi| {
        api.edit::<Ship>("default", "argo", |ship| {
            ship.spec.flag = Some("red".to_owned());
        });
    }));
}

/// Counts on numbers that its definition allows.
#[test]
fn an_explored_spec_that_a_rule_rejects_is_not_tried() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let share = 100 / ship.spec.sails;
        cx.apply(&map(&name(&ship, "log"), "share", &share.to_string()))
            .await?;
        let _ = cx.get::<ConfigMap>(&*name(&ship, "log"))?;
        done()
    }
    let explored = |rule: &str| {
        let register = |manager: &mut Manager| ships(manager).reconcile(reconcile);
        let simulation = simulate(register).object(&ship("argo")).histories(60);
        simulation.define(&ruled("spec", json!([{"rule": rule, "message": "a rule"}])))
    };
    let summary = explored("self.sails > 0").check().unwrap();
    assert!(summary.patterns["explored"] >= 4, "{summary}");
    let story = explored("self.sails >= 0").check().unwrap_err().to_string();
    assert!(story.contains("sets spec.sails to 0"), "{story}");
}

#[test]
fn a_rule_that_cannot_be_evaluated_is_in_the_summary() {
    let register = |manager: &mut Manager| ships(manager).reconcile(async |_, _| done());
    let rules =
        json!([{"rule": "!has(self.flag) || !isURL(self.flag)"}, {"rule": "self.sails < 9"}]);
    let simulation = simulate(register).object(&ship("argo")).histories(1);
    let summary = simulation.define(&ruled("spec", rules)).check().unwrap();
    let expected = "the rule `!has(self.flag) || !isURL(self.flag)` of ships.crew.example.com is not evaluated";
    assert_eq!(
        summary
            .notes
            .iter()
            .filter(|note| note.contains("the rule"))
            .collect::<Vec<_>>(),
        [expected]
    );
}
