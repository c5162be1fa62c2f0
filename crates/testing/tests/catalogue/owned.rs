//! Who owns what: fields and objects that belong to others, objects of the same name in another namespace, and what time brings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    jiff::SignedDuration,
};
use kbr_testing::{External, Simulation, simulate};
use manager::{Action, Cleanup, Context, Manager, from_json, kind};
use serde_json::json;

use crate::kinds::{
    CleanedUp, Reconciled, Ship, done, flag, found, log, name, pair_in, ship, ships,
};

const FINALIZER: &str = "crew.example.com/ship";
const DAY: Duration = Duration::from_secs(86_400);

fn one(register: fn(&mut Manager)) -> Simulation {
    simulate(register).object(&ship("argo")).histories(80)
}

/// Does not watch what it applies.
#[test]
fn what_is_applied_is_not_watched() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        done()
    }
    let forgotten = |manager: &mut Manager| manager.controller::<Ship>("ship").reconcile(reconcile);
    let story = found(one(forgotten));
    let help = "help: the operator does not watch configmaps: `.owns(…)` does";
    assert!(story.contains(help), "{story}");
    pair_in(
        forgotten,
        |manager| ships(manager).reconcile(reconcile),
        one,
    );
}

/// Writes all labels of its child, not only its own.
#[test]
fn a_label_of_others_is_removed() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let ours = BTreeMap::from([("flag".to_owned(), flag(&ship))]);
        let Some(child) = cx.get::<ConfigMap>(&*name(&ship, "log"))? else {
            let mut child = log(&ship);
            child.metadata.labels = Some(ours);
            cx.create(&child).await?;
            return done();
        };
        cx.update(&*child, |child| {
            let labels = child.metadata.labels.get_or_insert_default();
            if BUGGY {
                labels.clear();
            }
            labels.extend(ours.clone());
            child.data = log(&ship).data;
        })
        .await?;
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        one,
    );
}

/// Keeps the number of replicas that it has not set.
#[test]
fn an_autoscaler_is_fought() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let name = name(&ship, "crew");
        let labels = json!({ "app": name });
        let crew = from_json::<Deployment>(json!({
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "crew", "image": flag(&ship) }] },
                },
            },
        }))?;
        let crew = cx.apply(&crew).await?;
        let replicas = crew.spec.replicas;
        if BUGGY && replicas.is_some_and(|it| it != 1) {
            cx.update(&*crew, |crew: &mut Deployment| {
                crew.spec.replicas = Some(1);
            })
            .await?;
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        ships
            .owns(kind::<Deployment>())
            .reconcile(reconcile::<BUGGY>);
    }
    pair_in(register::<true>, register::<false>, one);
}

/// Names what it rents outside by the name of the object alone.
#[test]
fn a_namesake_in_another_namespace_shares_a_berth() {
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let harbor = External::<BTreeSet<String>>::new("harbor");
        let berth = |cx: &Context<Ship>| {
            if BUGGY {
                cx.name().to_owned()
            } else {
                format!("{}/{}", cx.namespace().unwrap_or_default(), cx.name())
            }
        };
        let rented = harbor.clone();
        let ships = ships(manager).finalizer(
            FINALIZER,
            move |_: Arc<Ship>,
                  cx: Context<Ship>|
                  -> futures_util::future::BoxFuture<'static, CleanedUp> {
                let harbor = rented.clone();
                Box::pin(async move {
                    let berth = berth(&cx);
                    let leave = |berths: &mut BTreeSet<String>| berths.remove(&berth);
                    harbor.call("frees a berth", leave).await?;
                    Ok(Cleanup::Done)
                })
            },
        );
        ships.reconcile(move |_: Arc<Ship>, cx: Context<Ship>| {
            let harbor = harbor.clone();
            async move {
                let berth = berth(&cx);
                let rent = |berths: &mut BTreeSet<String>| berths.insert(berth.clone());
                harbor.call("rents a berth", rent).await?;
                done()
            }
        });
    }
    pair_in(register::<true>, register::<false>, one);
}

/// Writes which generation it has seen only once.
#[test]
fn the_status_stays_at_the_first_generation() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        let generation = ship.metadata.generation;
        cx.status(|status| {
            if !BUGGY || status.observed_generation.is_none() {
                status.observed_generation = generation;
            }
        });
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        crate::kinds::voyage,
    );
}

/// Relies on a timer that an earlier process has set.
#[test]
fn a_restart_forgets_what_is_due_tomorrow() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let day = SignedDuration::try_from(DAY)?;
        let Some(log) = cx.get_live::<ConfigMap>(&*name(&ship, "log")).await? else {
            cx.apply(&entry(&ship, &cx, 0)).await?;
            return Ok(Action::requeue(DAY));
        };
        let data = log.data.clone().unwrap_or_default();
        let pages: u32 = data["pages"].parse()?;
        let age = cx.now().duration_since(data["at"].parse()?);
        if age >= day {
            cx.apply(&entry(&ship, &cx, pages + 1)).await?;
            return Ok(Action::requeue(DAY));
        }
        let rest = Duration::try_from(day - age)?;
        Ok(if BUGGY {
            Action::await_change()
        } else {
            Action::requeue(rest)
        })
    }
    fn entry(ship: &Ship, cx: &Context<Ship>, pages: u32) -> ConfigMap {
        let mut log = log(ship);
        let at = ("at".to_owned(), cx.now().to_string());
        log.data = Some(BTreeMap::from([
            at,
            ("pages".to_owned(), pages.to_string()),
        ]));
        log
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair_in(register::<true>, register::<false>, |register| {
        let by_hand = "it notices once a day";
        one(register).days(3).skip("by hand", by_hand)
    });
}

/// Writes a page each day.
#[test]
fn a_schedule_may_have_a_period_of_a_day() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        let now = cx.now().as_second();
        let next = 86_400 - now.rem_euclid(86_400);
        cx.status(|status| status.count = u32::try_from(now / 86_400).unwrap_or_default());
        Ok(Action::requeue(Duration::from_secs(next.unsigned_abs())))
    }
    let simulation = one(|manager| ships(manager).reconcile(reconcile)).histories(8);
    let simulation = simulation.skip("failover", "Leases are renewed for days");
    crate::kinds::unsuspected(simulation.every(DAY));
}

/// Does not look again at what it has rented outside.
#[test]
fn someone_frees_a_berth_by_hand() {
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let free = |berths: &mut BTreeSet<String>| berths.clear();
        let harbor = External::<BTreeSet<String>>::new("harbor").drifts("frees all berths", free);
        let rented = harbor.clone();
        let ships = ships(manager).finalizer(
            FINALIZER,
            move |ship: Arc<Ship>, _: Context<Ship>| -> BoxFuture<'static, CleanedUp> {
                let harbor = rented.clone();
                Box::pin(async move {
                    let leave =
                        |berths: &mut BTreeSet<String>| berths.remove(&name(&ship, "berth"));
                    harbor.call("frees a berth", leave).await?;
                    Ok(Cleanup::Done)
                })
            },
        );
        ships.reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let harbor = harbor.clone();
            async move {
                let is_rented = ship.status.as_ref().is_some_and(|it| it.phase == "Berthed");
                if !BUGGY || !is_rented {
                    let rent = |berths: &mut BTreeSet<String>| berths.insert(name(&ship, "berth"));
                    harbor.call("rents a berth", rent).await?;
                }
                cx.status(|status| status.phase = "Berthed".to_owned());
                done()
            }
        });
    }
    pair_in(register::<true>, register::<false>, one);
}
