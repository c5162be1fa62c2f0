//! Operators without a bug, whose simulations find defects of the library: `tests/projects/mutants.rs` runs them on a library with each of
//! those in `tests/projects/mutants/library.toml`.
//!
//! Not found are those that show only when a process is suspended (a fence that lets a former leader write), when a renewal
//! of the Lease hangs and the next one does not, or when the API server sends what cannot be read: no history has that.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{External, FakeApi, Simulation, simulate};
use manager::{Action, Cleanup, Context, Manager};

use crate::kinds::{Reconciled, Ship, done, flag, log, map, name, ship, ships, unsuspected};

/// One ship.
fn short(register: fn(&mut Manager)) -> Simulation {
    simulate(register).object(&ship("argo"))
}

fn change_flag(api: &FakeApi) {
    api.edit::<Ship>("default", "argo", |ship| {
        ship.spec.flag = Some("blue".to_owned());
    });
}

/// One ship, which the user gives another flag, and a label.
fn voyage(register: fn(&mut Manager)) -> Simulation {
    short(register)
        .user("changes the flag", change_flag)
        .user("marks the ship", |api: &FakeApi| {
            api.edit::<Ship>("default", "argo", |ship| {
                let labels = ship.metadata.labels.get_or_insert_default();
                labels.insert("marked".to_owned(), "yes".to_owned());
            });
        })
}

/// Writes two maps and a status: the first map says whether the ship is marked.
async fn write_two(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    let is_marked = ship.metadata.labels.is_some();
    cx.apply(&map(&name(&ship, "mark"), "marked", &is_marked.to_string()))
        .await?;
    cx.apply(&log(&ship)).await?;
    cx.status(|status| status.phase = flag(&ship));
    done()
}

fn writes_two(manager: &mut Manager) {
    ships(manager).reconcile(write_two);
}

/// The same without events of the maps, which would trigger a reconcile.
fn writes_two_unseen(manager: &mut Manager) {
    manager.controller::<Ship>("ship").reconcile(write_two);
}

/// Has one log with a generated name, of which it knows only from the cache; and marks that in the object, which triggers
/// the next reconcile.
async fn create_once(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    if cx.children::<ConfigMap>()?.is_empty() {
        let mut log = map("", "flag", "red");
        log.metadata.name = None;
        log.metadata.generate_name = Some(name(&ship, "log-"));
        cx.create(&log).await?;
    }
    let seen = |ship: &mut Ship| {
        let annotations = ship.metadata.annotations.get_or_insert_default();
        annotations.insert("crew.example.com/seen".to_owned(), "yes".to_owned());
    };
    cx.update(&*ship, seen).await?;
    done()
}

fn creates_once(manager: &mut Manager) {
    ships(manager).reconcile(create_once);
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn caches_of_a_new_leader_that_may_be_out_of_date() {
    unsuspected(voyage(creates_once));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_new_leader_that_reconciles_only_what_changes() {
    unsuspected(short(writes_two_unseen));
}

/// Sets one sail after the other, and takes so long that its Lease may expire.
async fn set_sails(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    for at in 0..4 {
        let sail = map(&name(&ship, &at.to_string()), "flag", &flag(&ship));
        cx.apply(&sail).await?;
        tokio::time::sleep(Duration::from_secs(40)).await;
    }
    Ok(Action::await_change())
}

fn sets_sails(manager: &mut Manager) {
    ships(manager).reconcile(set_sails);
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_leader_that_goes_on_without_its_lease() {
    unsuspected(short(sets_sails));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_candidate_that_takes_the_lease_of_another() {
    unsuspected(short(sets_sails));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn an_apply_to_whatever_object_has_the_name() {
    async fn write_unseen(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        done()
    }
    fn register(manager: &mut Manager) {
        manager.controller::<Ship>("ship").reconcile(write_unseen);
    }
    unsuspected(short(register).user("changes the flag", change_flag));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_cache_that_does_not_show_the_writes_of_its_controller() {
    unsuspected(voyage(creates_once));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_write_of_another_that_counts_as_its_own() {
    // Among all plans, these come late.
    let plan = |at| format!("miss:ships.crew.example.com@{at},step:2@{at}");
    unsuspected((4..9).fold(voyage(writes_two_unseen), |it, at| it.replay(&plan(at))));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_change_during_a_reconcile_that_is_lost() {
    unsuspected(voyage(writes_two));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn an_object_that_stays_in_the_cache() {
    unsuspected(voyage(writes_two));
}

#[test]
#[ignore = "`make test-release` runs it on a library with the defect"]
fn a_finalizer_that_is_added_too_late() {
    fn register(manager: &mut Manager) {
        manager
            .controller::<Ship>("ship")
            .finalizer("crew.example.com/ship", async |_, cx: Context<Ship>| {
                harbor()
                    .call("lets it leave", |ships| ships.retain(|it| it != cx.name()))
                    .await?;
                Ok(Cleanup::Done)
            })
            .reconcile(async |_, cx: Context<Ship>| {
                let moor = |ships: &mut Vec<String>| {
                    if !ships.iter().any(|it| it == cx.name()) {
                        ships.push(cx.name().to_owned());
                    }
                };
                harbor().call("moors", moor).await?;
                done()
            });
    }
    unsuspected(simulate(register).object(&ship("argo")));
}

/// A service that knows the ships in it.
fn harbor() -> External<Vec<String>> {
    static HARBOR: OnceLock<External<Vec<String>>> = OnceLock::new();
    HARBOR.get_or_init(|| External::new("harbor")).clone()
}
