//! Operators that miss what has happened, or believe what was.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Simulation, simulate};
use manager::{Cleanup, Context, Controller, Manager, kind};

use crate::kinds::{
    CleanedUp, Reconciled, Ship, done, flag, log, map, name, pair, pair_in, ship, ships,
};

/// Compares the spec with the last one that it remembers, and does nothing at first sight of an existing child.
#[test]
fn memory_says_what_has_changed() {
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let flags: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        ships(manager).reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let flags = flags.clone();
            async move {
                let exists = cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_some();
                let old = flags
                    .lock()
                    .unwrap()
                    .insert(cx.key().to_string(), flag(&ship));
                let changed = old.is_some_and(|old| old != flag(&ship));
                if changed || !exists || !BUGGY {
                    cx.apply(&log(&ship)).await?;
                }
                done()
            }
        });
    }
    pair(register::<true>, register::<false>);
}

/// Is not triggered by its children.
#[test]
fn a_child_that_is_gone_is_not_noticed() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        done()
    }
    pair(
        |manager| {
            manager
                .controller::<Ship>("ship")
                .reads(kind::<ConfigMap>())
                .reconcile(reconcile);
        },
        |manager| ships(manager).reconcile(reconcile),
    );
}

/// Creates a child that is missing, and does not look at one that exists.
#[test]
fn a_child_that_was_changed_is_not_repaired() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        child.data = Some([("flag".to_owned(), "up".to_owned())].into());
        if !BUGGY || cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_none() {
            cx.apply(&child).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Remembers which ships it has equipped by their names: a new one of the same name gets nothing.
#[test]
fn a_new_object_of_the_same_name_counts_as_the_old_one() {
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let equipped: Arc<Mutex<BTreeMap<String, i64>>> = Arc::default();
        ships(manager).reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let equipped = equipped.clone();
            async move {
                let generation = ship.metadata.generation.unwrap_or_default();
                let key = if BUGGY {
                    cx.key().to_string()
                } else {
                    ship.metadata.uid.clone().unwrap_or_default()
                };
                let known = equipped.lock().unwrap().get(&key).copied();
                if known != Some(generation) || !BUGGY {
                    cx.apply(&log(&ship)).await?;
                    equipped.lock().unwrap().insert(key, generation);
                }
                done()
            }
        });
    }
    pair(register::<true>, register::<false>);
}

/// Looks for what it cleans up where a watch has yet to deliver it: the answer that it was stored is lost.
#[test]
fn the_clean_up_does_not_see_what_was_written_without_an_answer() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let name = name(&ship, "log");
        let child = if BUGGY {
            cx.get::<ConfigMap>(&*name)?
        } else {
            cx.get_live::<ConfigMap>(&*name).await?
        };
        if let Some(child) = child {
            cx.delete(&*child).await?;
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager
            .controller::<Ship>("ship")
            .reads(kind::<ConfigMap>());
        let ships = ships.finalizer("crew.example.com/ship", cleanup::<BUGGY>);
        ships.reconcile(reconcile);
    }
    pair(register::<true>, register::<false>);
}

/// Takes a chart that is missing for lost, and does not look again: someone may just replace it.
#[test]
fn what_is_replaced_counts_as_lost() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let was_lost = ship.status.as_ref().is_some_and(|it| it.phase == "Lost");
        let is_there = cx.get::<ConfigMap>("chart")?.is_some();
        let is_known = is_there && !(BUGGY && was_lost);
        let phase = if is_known { "Sailing" } else { "Lost" };
        cx.status(|status| phase.clone_into(&mut status.phase));
        done()
    }
    fn charted(manager: &mut Manager) -> Controller<'_, Ship> {
        let ships = manager.controller::<Ship>("ship");
        ships.watches(kind::<ConfigMap>(), |_, cached| {
            cached.list::<Ship>().keys()
        })
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        simulate(register)
            .world(&map("chart", "course", "Colchis"))
            .object(&ship("argo"))
            .user("replaces the chart", |api: &FakeApi| {
                api.delete::<ConfigMap>("default", "chart");
                api.put(&map("chart", "course", "Iolcus"));
            })
    }
    pair_in(
        |manager| charted(manager).reconcile(reconcile::<true>),
        |manager| charted(manager).reconcile(reconcile::<false>),
        scenario,
    );
}
