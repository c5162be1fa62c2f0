//! Operators with several objects, or other kinds.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Container, Secret},
};
use kbr_testing::{FakeApi, Simulation};
use manager::{Action, Context, Manager, kind, metadata};

use crate::kinds::{
    Reconciled, Ship, done, flag, log, map, name, pair, pair_in, ship, ships, voyage,
};

/// Two ships.
fn fleet(register: fn(&mut Manager)) -> Simulation {
    let mut other = ship("bounty");
    other.spec.sails = 1;
    voyage(register).object(&other)
}

/// Deletes whatever has its label and is not wanted, also the children of others.
#[test]
fn children_of_others_are_deleted() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        child.metadata.labels = Some([("app".to_owned(), "ship".to_owned())].into());
        cx.apply(&child).await?;
        let found = if BUGGY {
            cx.list::<ConfigMap>().with_label("app", "ship").all()?
        } else {
            cx.children::<ConfigMap>()?
        };
        for other in found {
            if other.metadata.name != child.metadata.name {
                cx.delete(&*other).await?;
            }
        }
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        fleet,
    );
}

/// Gives the children of all objects one name.
#[test]
fn two_objects_share_a_child() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        if BUGGY {
            child.metadata.name = Some("log".to_owned());
        }
        cx.apply(&child).await?;
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        fleet,
    );
}

/// Writes the entries of a hash map in their order, which is another one each time.
#[test]
fn the_order_of_a_hash_map_is_written() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let crew: HashMap<_, _> = (0..20).map(|at| (at, flag(&ship))).collect();
        let mut crew: Vec<_> = crew.keys().map(ToString::to_string).collect();
        if !BUGGY {
            crew.sort();
        }
        cx.apply(&map(&name(&ship, "log"), "crew", &crew.join(",")))
            .await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Waits for a Secret that it does not watch.
#[test]
fn what_it_waits_for_is_not_watched() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let orders = cx.get::<Secret>("orders")?;
        cx.apply(&log(&ship)).await?;
        let phase = if orders.is_some() { "Ready" } else { "Waiting" };
        cx.status(|status| phase.clone_into(&mut status.phase));
        done()
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        voyage(register)
            .user("gives orders", |api: &FakeApi| {
                let mut orders = Secret::default();
                orders.metadata.name = Some("orders".to_owned());
                api.put(&orders);
            })
            .without(
                kbr_testing::Oracle::NothingLeft,
                "the user keeps the orders",
            )
    }
    pair_in(
        |manager| ships(manager).reads(kind::<Secret>()).reconcile(reconcile),
        |manager| {
            let ships =
                ships(manager).watches(kind::<Secret>(), |_, cached| cached.list::<Ship>().keys());
            ships.reconcile(reconcile);
        },
        scenario,
    );
}

/// Names a Job by a number that it counts in memory: another process begins again, or runs it twice.
#[test]
fn a_job_is_named_by_memory() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if BUGGY && ship.status.as_ref().is_some_and(|it| it.phase == "Sailed") {
            return done();
        }
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let number = if BUGGY {
            count.to_string()
        } else {
            "1".to_owned()
        };
        let mut job = Job::default();
        job.metadata.name = Some(name(&ship, &number));
        let spec = job
            .spec
            .get_or_insert_default()
            .template
            .spec
            .get_or_insert_default();
        spec.containers = vec![Container {
            name: "sail".to_owned(),
            ..Container::default()
        }];
        cx.apply(&job).await?;
        cx.status(|status| "Sailed".clone_into(&mut status.phase));
        done()
    }
    pair_in(
        |manager| {
            manager
                .controller::<Ship>("ship")
                .owns(metadata::<Job>())
                .reconcile(reconcile::<true>);
        },
        |manager| {
            manager
                .controller::<Ship>("ship")
                .owns(metadata::<Job>())
                .reconcile(reconcile::<false>);
        },
        |register| voyage(register).kubelet(),
    );
}

/// Marks the object itself each time, which triggers the next reconcile.
#[test]
fn the_object_is_marked_with_each_reconcile() {
    async fn reconcile<const BUGGY: bool>(
        ship: Arc<Ship>,
        cx: Context<Ship>,
    ) -> anyhow::Result<Action> {
        cx.apply(&log(&ship)).await?;
        let seen = if BUGGY {
            cx.now().to_string()
        } else {
            "yes".to_owned()
        };
        let mark = |ship: &mut Ship| {
            let annotations = ship.metadata.annotations.get_or_insert_default();
            annotations.insert("crew.example.com/seen".to_owned(), seen.clone());
        };
        cx.update(&*ship, mark).await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}
