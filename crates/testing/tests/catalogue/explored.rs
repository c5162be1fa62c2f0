//! What `.explore()` finds: an operator that does not follow a field of the spec.

use std::sync::Arc;

use kbr_testing::Simulation;
use kube::CustomResourceExt;
use manager::{Context, Manager};

use crate::kinds::{Reconciled, Ship, done, log, ship, ships};

/// One ship, whose user takes no steps.
fn anchored(register: fn(&mut Manager)) -> Simulation {
    let simulation = kbr_testing::simulate(register).define(&Ship::crd());
    simulation.object(&ship("argo")).explore()
}

/// Remembers the largest number of sails that there ever was.
async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    cx.apply(&log(&ship)).await?;
    let sails = ship.spec.sails;
    cx.status(|status| {
        status.count = if BUGGY {
            status.count.max(sails)
        } else {
            sails
        }
    });
    done()
}

#[test]
fn a_change_of_a_spec_is_taken_back_and_its_failure_can_be_replayed() {
    let buggy = |manager: &mut Manager| ships(manager).reconcile(reconcile::<true>);
    let story = anchored(buggy)
        .histories(1)
        .check()
        .unwrap_err()
        .to_string();
    assert!(story.contains("the user sets spec.sails to "), "{story}");
    let (_, plan) = story.split_once("KBR_SIMULATE='").unwrap();
    let (plan, _) = plan.split_once('\'').unwrap();
    assert!(plan.starts_with("explore:"), "{story}");
    let replayed = anchored(buggy).replay(plan).check().unwrap_err();
    assert_eq!(replayed.to_string(), story);
}

#[test]
fn an_operator_that_follows_its_spec_is_clean() {
    let repaired = |manager: &mut Manager| ships(manager).reconcile(reconcile::<false>);
    let summary = anchored(repaired).histories(1).check().unwrap();
    let tried = summary.patterns["explored"];
    assert!(tried >= 6, "{summary}");
}
