//! What becomes of an object whose parts are made one after another, or of several objects that depend on each other.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::Simulation;
use kube::api::{Patch, PatchParams};
use manager::{Cleanup, Context, Manager, kind};
use serde_json::json;

use crate::kinds::{
    CleanedUp, Reconciled, Ship, done, flag, log, map, name, pair, pair_in, raw, ship, ships,
    voyage,
};

/// Gives a child its owner after it was created.
#[test]
fn the_owner_of_a_child_is_written_later() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let known = cx.get_live::<ConfigMap>(&*name(&ship, "log")).await?;
        if !BUGGY {
            cx.apply(&log(&ship)).await?;
        } else if known.is_none() {
            let child = cx.apply_unowned(&log(&ship)).await?;
            let owner = kube::Resource::controller_owner_ref(&*ship, &());
            cx.update(&*child, |child| {
                child.metadata.owner_references = owner.clone().map(|it| vec![it]);
            })
            .await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Finds what it cleans up by a label, which it adds after the creation.
#[test]
fn the_clean_up_looks_for_a_label_that_is_added_later() {
    const FINALIZER: &str = "crew.example.com/ship";
    async fn cleanup(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let own = cx.list::<ConfigMap>();
        for child in own.with_label("ship", &name(&ship, "x")).all()? {
            cx.delete(&*child).await?;
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        if BUGGY {
            cx.apply_unowned(&child).await?;
        }
        child.metadata.labels = Some([("ship".to_owned(), name(&ship, "x"))].into());
        cx.apply_unowned(&child).await?;
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager
            .controller::<Ship>("ship")
            .reads(kind::<ConfigMap>());
        let ships = ships.finalizer(FINALIZER, cleanup);
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair(register::<true>, register::<false>);
}

/// Names the next child by the number of those that there are.
#[test]
fn a_child_is_named_by_the_number_of_children() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let sail = |at: u32| map(&name(&ship, &at.to_string()), "sail", "set");
        let count = u32::try_from(cx.children::<ConfigMap>()?.len())?;
        let from = if BUGGY { count } else { 0 };
        for at in from..ship.spec.sails {
            cx.apply(&sail(at)).await?;
        }
        for child in cx.children::<ConfigMap>()? {
            let mut wanted = (0..ship.spec.sails).map(|at| sail(at).metadata.name);
            if wanted.all(|wanted| wanted != child.metadata.name) {
                cx.delete(&*child).await?;
            }
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Takes a conflict for the work of another replica.
#[test]
fn a_conflict_counts_as_done() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let known = cx.apply(&map(&name(&ship, "log"), "log", "empty")).await?;
        let wanted = json!({"metadata": {
            "resourceVersion": known.metadata.resource_version, "annotations": {"flag": flag(&ship)},
        }});
        let is_there = |(key, value): (&String, &String)| key == "flag" && *value == flag(&ship);
        if known.metadata.annotations.iter().flatten().any(is_there) {
            return done();
        }
        let (params, patch) = (PatchParams::default(), Patch::Merge(wanted));
        let maps = raw::<ConfigMap>(&cx);
        match maps.patch(&name(&ship, "log"), &params, &patch).await {
            Err(kube::Error::Api(error)) if BUGGY && error.code == 409 => done(),
            patched => patched.map_err(Into::into).and_then(|_| done()),
        }
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        // It does not watch the maps: what someone else changes would trigger it again.
        let ships = manager.controller::<Ship>("ship");
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair(register::<true>, register::<false>);
}

/// Writes a value that each process makes for itself.
#[test]
fn each_process_writes_its_own_value() {
    static PROCESSES: AtomicU32 = AtomicU32::new(0);
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let process = if BUGGY {
            PROCESSES.fetch_add(1, Ordering::SeqCst)
        } else {
            0
        };
        ships(manager).reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| async move {
            let token = process.to_string();
            cx.apply(&map(&name(&ship, "log"), "token", &token)).await?;
            done()
        });
    }
    pair(register::<true>, register::<false>);
}

/// Gives each object the next number, in the order in which it sees them first.
#[test]
fn a_number_depends_on_who_came_first() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let all = cx.list::<Ship>().all()?;
        let before = |other: &Arc<Ship>| {
            if BUGGY {
                other.status.as_ref().is_some_and(|it| it.count > 0)
            } else {
                other.metadata.name < ship.metadata.name
            }
        };
        let number = u32::try_from(all.iter().filter(|other| before(other)).count())?;
        if !BUGGY || ship.status.as_ref().is_none_or(|it| it.count == 0) {
            cx.status(|status| status.count = number + 1);
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        let ships = ships.watches(kind::<Ship>(), |_, cached| cached.list::<Ship>().keys());
        ships.reconcile(reconcile::<BUGGY>);
    }
    fn fleet(register: fn(&mut Manager)) -> Simulation {
        let names = ["bounty", "calypso", "dove"];
        let others = names.into_iter().map(ship);
        others.fold(voyage(register), |simulation, ship| {
            simulation.object(&ship)
        })
    }
    pair_in(register::<true>, register::<false>, fleet);
}
