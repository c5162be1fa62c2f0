//! States that an operator leaves behind when it ends between two writes (Sieve's *intermediate states*).

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::Simulation;
use kube::api::PostParams;
use manager::{Context, Manager};
use serde_json::json;

use crate::kinds::{
    Reconciled, Ship, done, flag, log, map, name, pair, pair_in, raw, service, ships, voyage,
    write_status,
};

/// Creates the second child only together with the first.
#[test]
fn a_second_child_depends_on_the_creation_of_the_first() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let is_new = cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_none();
        cx.apply(&log(&ship)).await?;
        if is_new || !BUGGY {
            cx.apply(&service(cx.name())).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Says that it is done before it is, and believes its own status afterwards.
#[test]
fn a_status_is_written_before_the_child() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let generation = ship.metadata.generation;
        let seen = ship.status.as_ref().and_then(|it| it.observed_generation);
        if BUGGY && seen == generation {
            return done();
        }
        if BUGGY {
            write_status(&cx, &json!({"observedGeneration": generation})).await?;
        }
        cx.apply(&log(&ship)).await?;
        cx.status(|status| status.observed_generation = generation);
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Knows the child that a new name replaces only from its status, and writes that before it deletes the old one.
#[test]
fn the_old_child_is_forgotten_when_a_new_one_replaces_it() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = name(&ship, &flag(&ship));
        cx.apply(&map(&wanted, "flag", "up")).await?;
        let old = ship
            .status
            .as_ref()
            .and_then(|status| status.chosen.clone());
        write_status(&cx, &json!({"chosen": wanted})).await?;
        for child in cx.children::<ConfigMap>()? {
            let child_name = child.metadata.name.clone();
            if child_name.as_ref() != Some(&wanted) && (!BUGGY || child_name == old) {
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

/// Counts what it creates, after it has created it.
#[test]
fn a_counter_in_the_status_misses_a_creation() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let is_new = cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_none();
        cx.apply(&log(&ship)).await?;
        let counted = u32::try_from(cx.children::<ConfigMap>()?.len())?;
        let before = ship.status.as_ref().map_or(0, |status| status.count);
        let count = if BUGGY {
            before + u32::from(is_new)
        } else {
            counted
        };
        cx.status(|status| status.count = count);
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Creates an empty child, and fills it only if it has just created it.
#[test]
fn a_child_is_created_empty_and_filled_later() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = map(&name(&ship, "log"), "sails", "any");
        if cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_none() {
            let mut empty = wanted.clone();
            empty.data = None;
            let created = cx.create(&empty).await?;
            cx.update(&*created, |child| child.data = wanted.data.clone())
                .await?;
        } else if !BUGGY {
            cx.apply(&wanted).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Lets the API server choose a name, and writes it down afterwards.
#[test]
fn a_generated_name_is_written_down_too_late() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if !BUGGY {
            cx.apply(&log(&ship)).await?;
            return done();
        }
        if ship.status.as_ref().is_none_or(|it| it.chosen.is_none()) {
            let mut child = log(&ship);
            child.metadata.name = None;
            child.metadata.generate_name = Some(name(&ship, ""));
            child.metadata.owner_references =
                kube::Resource::controller_owner_ref(&*ship, &()).map(|it| vec![it]);
            let child = raw::<ConfigMap>(&cx)
                .create(&PostParams::default(), &child)
                .await?;
            write_status(&cx, &json!({"chosen": child.metadata.name})).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Compares a hash to see whether a child is up to date, and writes the hash before the data.
#[test]
fn a_hash_is_written_before_the_data() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        child.metadata.annotations = Some([("hash".to_owned(), flag(&ship))].into());
        let known = cx.get::<ConfigMap>(&*name(&ship, "log"))?;
        match known.filter(|_| BUGGY) {
            Some(known) if known.metadata.annotations == child.metadata.annotations => {}
            Some(known) => {
                let hash = child.metadata.annotations.clone();
                let marked = cx
                    .update(&*known, |map| map.metadata.annotations = hash.clone())
                    .await?;
                if let Some(marked) = marked {
                    cx.update(&*marked, |map| map.data = child.data.clone())
                        .await?;
                }
            }
            None => drop(cx.apply(&child).await?),
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Takes a lock for what it does, and finds it taken by an earlier process of its own.
#[test]
fn a_lock_outlives_its_process() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let (wanted, known) = (log(&ship), cx.get::<ConfigMap>(&*name(&ship, "log"))?);
        if !BUGGY || known.is_some_and(|known| known.data == wanted.data) {
            cx.apply(&wanted).await?;
            return done();
        }
        if cx.get::<ConfigMap>(&*name(&ship, "lock"))?.is_some() {
            return done();
        }
        let lock = cx.apply(&map(&name(&ship, "lock"), "taken", "yes")).await?;
        cx.apply(&wanted).await?;
        cx.delete(&*lock).await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Moves data to a child of another name, and deletes the old one first.
#[test]
fn data_is_only_in_memory_between_two_writes() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = name(&ship, &flag(&ship));
        let children = cx.children::<ConfigMap>()?;
        let treasure = children
            .iter()
            .find_map(|child| child.data.clone()?.remove("treasure"));
        let treasure = treasure.unwrap_or_else(|| flag(&ship));
        let old = children
            .iter()
            .filter(|child| child.metadata.name.as_ref() != Some(&wanted));
        let old: Vec<_> = old.collect();
        if BUGGY {
            for child in &old {
                cx.delete(&***child).await?;
            }
        }
        cx.apply(&map(&wanted, "treasure", &treasure)).await?;
        for child in &old {
            cx.delete(&***child).await?;
        }
        done()
    }
    // Deleting the child by hand deletes the treasure, in the repaired operator too.
    fn crashes(register: fn(&mut Manager)) -> Simulation {
        let writes = 1..6;
        writes.fold(voyage(register), |simulation, at| {
            let simulation = simulation.replay(&format!("crash-before@{at}"));
            simulation.replay(&format!("crash-after@{at}"))
        })
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        crashes,
    );
}
