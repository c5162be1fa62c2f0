//! Operators that depend on what is around their objects: on what was there before, and on objects beside theirs.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Simulation, simulate};
use manager::{
    Cleanup, Context, Manager, kind,
    webhook::{Rejection, Request, Validator, Warnings},
};

use crate::kinds::{Reconciled, Ship, clean, done, log, map, name, pair_in, ship, ships, voyage};

const FINALIZER: &str = "crew.example.com/ship";

/// One ship, and orders that were there before.
fn ordered(register: fn(&mut Manager)) -> Simulation {
    let orders = map("orders", "to", "sail");
    let simulation = simulate(register).object(&ship("argo"));
    simulation.world(&orders)
}

/// Copies what an object says to which it refers, and does not watch that: a change counts with the next restart.
/// So did a rotated token in the origin-ca-issuer of Cloudflare.
#[test]
fn what_it_refers_to_is_not_watched() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let orders = cx.get_live::<ConfigMap>("orders").await?;
        let data = orders.and_then(|orders| orders.data.clone());
        let to = data.and_then(|data| data.get("to").cloned());
        cx.apply(&map(&name(&ship, "copy"), "to", &to.unwrap_or_default()))
            .await?;
        done()
    }
    pair_in(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships.reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            let ships = ships.watches(kind::<ConfigMap>(), |_, cached| {
                cached.list::<Ship>().keys()
            });
            ships.reconcile(reconcile);
        },
        ordered,
    );
}

/// A ship needs orders.
struct Ordered<const BUGGY: bool>;

impl<const BUGGY: bool> Validator<Ship> for Ordered<BUGGY> {
    async fn validate_create(&self, _: &Ship, cx: &Request<Ship>) -> Result<Warnings, Rejection> {
        let cached = cx.cached().await;
        match cached.get::<ConfigMap>("default/orders")? {
            Some(_) => Ok(Warnings::new()),
            None => Err(Rejection::forbidden("no orders")),
        }
    }

    async fn validate_update(
        &self,
        _: &Ship,
        new: &Ship,
        cx: &Request<Ship>,
    ) -> Result<Warnings, Rejection> {
        if !BUGGY && new.metadata.deletion_timestamp.is_some() {
            return Ok(Warnings::new());
        }
        self.validate_create(new, cx).await
    }
}

fn obey<const BUGGY: bool>(manager: &mut Manager) {
    manager.reads(kind::<ConfigMap>());
    manager.validator::<Ship>(Ordered::<BUGGY>);
    ships(manager)
        .finalizer(FINALIZER, async |_, _| Ok(Cleanup::Done))
        .reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
}

/// Its validator also rejects the removal of a finalizer, once what the spec refers to is gone: no one can delete the object.
#[test]
fn a_validator_keeps_what_is_being_deleted() {
    pair_in(obey::<true>, obey::<false>, ordered);
}

/// What a step of the user deletes is not missing.
#[test]
fn the_user_may_delete_what_was_there() {
    let simulation = ordered(|manager| {
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
    });
    clean(simulation.user("burns the orders", |api: &FakeApi| {
        api.delete::<ConfigMap>("default", "orders");
    }));
}

fn rig<const BUGGY: bool>(manager: &mut Manager) {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let sails = 0..ship.spec.sails;
        let wanted: Vec<_> = sails.map(|at| name(&ship, &at.to_string())).collect();
        for sail in &wanted {
            cx.apply(&map(sail, "sail", "set")).await?;
        }
        let found = if BUGGY {
            let mut all = cx.list::<ConfigMap>().all()?;
            let prefix = name(&ship, "");
            all.retain(|sail| {
                let name = sail.metadata.name.as_deref();
                name.is_some_and(|name| name.starts_with(&prefix))
            });
            all
        } else {
            cx.children::<ConfigMap>()?
        };
        for sail in found {
            if !sail
                .metadata
                .name
                .as_ref()
                .is_some_and(|name| wanted.contains(name))
            {
                cx.delete(&*sail).await?;
            }
        }
        done()
    }
    ships(manager).reconcile(reconcile::<BUGGY>);
}

/// Takes for its children what begins with its name: also those of `argo-2`.
#[test]
fn the_name_of_one_object_begins_that_of_another() {
    pair_in(rig::<true>, rig::<false>, |register| voyage(register));
}

/// Before it sees that the second of two objects is gone, an operator rightly goes on to create its children, which the
/// garbage collector deletes.
#[test]
fn two_objects_are_deleted_and_seen_late() {
    let fleet = voyage(rig::<false>).object(&ship("bounty"));
    fleet
        .replay("trickle:ships.crew.example.com")
        .check()
        .unwrap();
}
