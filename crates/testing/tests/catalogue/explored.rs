//! Operators that do not follow a field of the spec.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::Simulation;
use kube::CustomResourceExt;
use manager::{Context, Manager};

use crate::kinds::{Reconciled, Ship, done, log, map, name, ship, ships};

/// One ship, whose user takes no steps.
fn anchored(register: fn(&mut Manager)) -> Simulation {
    let simulation = kbr_testing::simulate(register).define(&Ship::crd());
    simulation.object(&ship("argo"))
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
    let failure = anchored(buggy).histories(120).check().unwrap_err();
    let story = failure.to_string();
    assert!(story.contains("the user sets spec.sails to "), "{story}");
    assert!(failure.plan.starts_with("explore:"), "{story}");
    let replayed = anchored(buggy).replay(&failure.plan).check().unwrap_err();
    assert_eq!(replayed.to_string(), story);
}

#[test]
fn an_operator_that_follows_its_spec_is_clean() {
    let repaired = |manager: &mut Manager| ships(manager).reconcile(reconcile::<false>);
    let summary = anchored(repaired).histories(120).check().unwrap();
    let tried = summary.patterns["explored"];
    assert!(tried >= 6, "{summary}");
}

/// Finds the bug of an operator at rest, which no fault shows, and no bug in its twin.
#[track_caller]
fn pair(buggy: fn(&mut Manager), repaired: fn(&mut Manager)) -> String {
    let story = anchored(buggy).histories(120).check().unwrap_err();
    println!("{story}\n");
    anchored(repaired).histories(120).check().unwrap();
    story.to_string()
}

/// Counts on a field that may be missing.
#[test]
fn a_field_that_may_be_missing_is_unwrapped() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let flag = ship.spec.flag.clone();
        let flag = if BUGGY {
            flag.expect("a ship has a flag")
        } else {
            flag.unwrap_or_default()
        };
        cx.apply(&map(&name(&ship, "log"), "flag", &flag)).await?;
        done()
    }
    let story = pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
    let panic = "/explored.rs:";
    assert!(
        story.contains(panic) && story.contains(": a ship has a flag\n"),
        "{story}"
    );
}

/// Counts down from a number that may be zero.
#[test]
fn there_may_be_none() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let share = if BUGGY {
            100 / ship.spec.sails
        } else {
            100_u32.checked_div(ship.spec.sails).unwrap_or_default()
        };
        cx.apply(&map(&name(&ship, "log"), "share", &share.to_string()))
            .await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Creates a child for a field, and keeps it when the field is gone.
#[test]
fn the_child_of_a_field_outlives_it() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if ship.spec.flag.is_some() {
            cx.apply(&log(&ship)).await?;
        } else if let Some(child) = cx.get::<ConfigMap>(&*name(&ship, "log"))?
            && !BUGGY
        {
            cx.delete(&*child).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}
