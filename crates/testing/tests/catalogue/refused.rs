//! Writes that fail, or seem to.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::Simulation;
use kube::api::{DeleteParams, PostParams};
use manager::{Cleanup, Context, Manager, kind, terminal};

use crate::kinds::{
    CleanedUp, Reconciled, Ship, done, log, map, name, pair, pair_in, raw, ships, voyage,
};

/// Ignores errors, so nothing is tried again.
#[test]
fn an_error_is_ignored() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let applied = cx.apply(&log(&ship)).await;
        if !BUGGY {
            applied?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Takes any error for one that no retry can repair.
#[test]
fn every_error_is_terminal() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let applied = cx.apply(&log(&ship)).await;
        if BUGGY {
            applied.map_err(terminal)?;
        } else {
            applied?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Panics on an error.
#[test]
fn an_error_is_a_panic() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let applied = cx.apply(&log(&ship)).await;
        if BUGGY {
            applied.expect("the API server is always there");
        } else {
            applied?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Creates without a look: whether that has worked before is unknown if the answer was lost.
#[test]
fn what_exists_already_is_an_error_for_ever() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if !BUGGY {
            cx.apply(&log(&ship)).await?;
            cx.status(|status| "Ready".clone_into(&mut status.phase));
            return done();
        }
        if ship.status.as_ref().is_some_and(|it| it.phase == "Ready") {
            return done();
        }
        let mut child = log(&ship);
        child.metadata.owner_references =
            kube::Resource::controller_owner_ref(&*ship, &()).map(|it| vec![it]);
        let maps = raw::<ConfigMap>(&cx);
        maps.create(&PostParams::default(), &child).await?;
        cx.status(|status| "Ready".clone_into(&mut status.phase));
        done()
    }
    pair(
        |manager| {
            manager
                .controller::<Ship>("ship")
                .reconcile(reconcile::<true>);
        },
        |manager| {
            manager
                .controller::<Ship>("ship")
                .reconcile(reconcile::<false>);
        },
    );
}

/// Cannot delete what is gone, so its finalizer stays.
#[test]
fn what_is_gone_cannot_be_deleted() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let params = DeleteParams::default();
        let deleted = raw::<ConfigMap>(&cx)
            .delete(&name(&ship, "log"), &params)
            .await;
        match deleted {
            Err(kube::Error::Api(error)) if error.code == 404 && !BUGGY => {}
            deleted => drop(deleted?),
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        done()
    }
    pair(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer("crew.example.com/log", cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer("crew.example.com/log", cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Expects that what it read a moment ago is still there.
#[test]
fn what_is_gone_cannot_be_changed() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let key = name(&ship, "log");
        let Some(known) = cx.get::<ConfigMap>(&*key)? else {
            cx.apply(&log(&ship)).await?;
            return done();
        };
        let wanted = log(&ship).data;
        let changed = cx
            .update(&*known, |log| log.data.clone_from(&wanted))
            .await?;
        if BUGGY {
            changed.expect("it was there");
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Expects that what it has applied a moment ago is still there when it reads that: no write of it comes too late.
#[test]
fn what_is_gone_cannot_be_read() {
    async fn cleanup(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        if let Some(known) = cx.get_live::<ConfigMap>(&*name(&ship, "log")).await? {
            cx.delete(&*known).await?;
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        let known = cx.get_live::<ConfigMap>(&*name(&ship, "log")).await?;
        if BUGGY {
            known.expect("it was there");
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        let ships = ships.watches(kind::<ConfigMap>(), |_, cached| {
            cached.list::<Ship>().keys()
        });
        let ships = ships.finalizer("crew.example.com/log", cleanup);
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair(register::<true>, register::<false>);
}

/// Takes a time-out for a success, because it often is one.
#[test]
fn a_time_out_counts_as_done() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut course = map(
            &name(&ship, "course"),
            "sails",
            &ship.spec.sails.to_string(),
        );
        course.metadata.owner_references =
            kube::Resource::controller_owner_ref(&*ship, &()).map(|it| vec![it]);
        let params = kube::api::PatchParams::apply("course").force();
        let maps = raw::<ConfigMap>(&cx);
        let patch = kube::api::Patch::Apply(&course);
        let applied = maps.patch(&name(&ship, "course"), &params, &patch).await;
        match applied {
            Err(kube::Error::Api(error)) if BUGGY && error.code == 504 => {}
            applied => drop(applied?),
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Takes a connection that was cut for a success.
#[test]
fn a_cut_connection_counts_as_done() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let applied = cx.apply(&log(&ship)).await;
        let is_cut = |error: &anyhow::Error| {
            error
                .chain()
                .any(|cause| cause.to_string().contains("connection was closed"))
        };
        match applied {
            Err(error) if BUGGY && is_cut(&error) => {}
            applied => drop(applied?),
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Takes a conflict for the work of another writer, though each was one too many for the library.
#[test]
fn conflicts_again_and_again_count_as_done() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let Some(chart) = cx.get_live::<ConfigMap>("chart").await? else {
            return done();
        };
        let mark = |chart: &mut ConfigMap| {
            let annotations = chart.metadata.annotations.get_or_insert_default();
            annotations.insert("ship".to_owned(), name(&ship, "chart"));
        };
        let Err(error) = cx.update(&*chart, mark).await else {
            return done();
        };
        let status = error.downcast_ref();
        if BUGGY && matches!(status, Some(kube::Error::Api(status)) if status.code == 409) {
            return done();
        }
        Err(error)
    }
    // It does not watch the map, which others change often.
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        ships.reconcile(reconcile::<BUGGY>);
    }
    fn with_chart(register: fn(&mut Manager)) -> Simulation {
        voyage(register).world(&map("chart", "course", "north"))
    }
    pair_in(register::<true>, register::<false>, with_chart);
}
