//! Operators that never rest.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{Action, Context, kind};

use crate::kinds::{Reconciled, Ship, done, log, map, name, pair, ships};

/// Counts its reconciles in the status.
#[test]
fn each_reconcile_is_counted_in_the_status() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        cx.status(|status| status.count = if BUGGY { status.count + 1 } else { 1 });
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Writes the time into a child, whose change triggers the next reconcile.
#[test]
fn a_child_contains_the_time() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        if BUGGY {
            let time = cx.now().to_string();
            child
                .data
                .get_or_insert_default()
                .insert("time".to_owned(), time);
        }
        cx.apply(&child).await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Writes what it has counted since it started.
#[test]
fn a_child_contains_what_memory_counts() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let count = COUNT.fetch_add(1, Ordering::SeqCst) / 2;
        let count = if BUGGY { count } else { 0 };
        cx.apply(&map(&name(&ship, "log"), "count", &count.to_string()))
            .await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Requeues at once, whatever there is to do.
#[test]
fn it_requeues_at_once_for_ever() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        if BUGGY {
            return Ok(Action::again());
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Two controllers want different values of one field.
#[test]
fn two_controllers_fight() {
    async fn one(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&map(&name(&ship, "log"), "captain", "jason"))
            .await?;
        done()
    }
    async fn other<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let key = if BUGGY { "captain" } else { "helmsman" };
        cx.apply(&map(&name(&ship, "log"), key, "tiphys")).await?;
        done()
    }
    pair(
        |manager| {
            ships(manager).reconcile(one);
            let helm = manager.controller::<Ship>("helm").owns(kind::<ConfigMap>());
            helm.reconcile(other::<true>);
        },
        |manager| {
            ships(manager).reconcile(one);
            let helm = manager.controller::<Ship>("helm").owns(kind::<ConfigMap>());
            helm.reconcile(other::<false>);
        },
    );
}
