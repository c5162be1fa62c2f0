//! What is left behind when an object is deleted.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{Cleanup, Context, kind};
use serde_json::json;

use crate::kinds::{
    CleanedUp, Reconciled, Ship, done, flag, log, map, name, pair, pair_in, ships, voyage,
    write_status,
};

const FINALIZER: &str = "crew.example.com/ship";

/// Nothing owns the child, and nothing deletes it.
#[test]
fn a_child_has_no_owner() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if BUGGY {
            cx.apply_unowned(&log(&ship)).await?;
        } else {
            cx.apply(&log(&ship)).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Cleans up what its current spec names, and not what an earlier one did.
#[test]
fn the_clean_up_knows_only_the_current_spec() {
    async fn delete_but(kept: Option<&str>, ship: &Ship, cx: &Context<Ship>) -> anyhow::Result<()> {
        for child in cx
            .list::<ConfigMap>()
            .with_label("ship", &name(ship, "x"))
            .all()?
        {
            if child.metadata.name.as_deref() != kept {
                cx.delete(&*child).await?;
            }
        }
        Ok(())
    }
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        if !BUGGY {
            delete_but(None, &ship, &cx).await?;
        } else if let Some(child) = cx
            .get_live::<ConfigMap>(&*name(&ship, &flag(&ship)))
            .await?
        {
            cx.delete(&*child).await?;
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = name(&ship, &flag(&ship));
        let mut child = map(&wanted, "flag", "up");
        child.metadata.labels = Some([("ship".to_owned(), name(&ship, "x"))].into());
        cx.apply_unowned(&child).await?;
        if !BUGGY {
            delete_but(Some(&wanted), &ship, &cx).await?;
        }
        done()
    }
    pair(
        |manager| {
            let ships = manager
                .controller::<Ship>("ship")
                .reads(kind::<ConfigMap>());
            ships
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile::<true>);
        },
        |manager| {
            let ships = manager
                .controller::<Ship>("ship")
                .reads(kind::<ConfigMap>());
            ships
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile::<false>);
        },
    );
}

/// Finds what it has to clean up in the status, which may not be written yet.
#[test]
fn the_clean_up_believes_the_status() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let written = ship
            .status
            .as_ref()
            .and_then(|status| status.chosen.clone());
        let wanted = if BUGGY {
            written
        } else {
            Some(name(&ship, "log"))
        };
        let Some(wanted) = wanted else {
            return Ok(Cleanup::Done);
        };
        if let Some(child) = cx.get_live::<ConfigMap>(&*wanted).await? {
            cx.delete(&*child).await?;
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        let chosen = name(&ship, "log");
        if ship
            .status
            .as_ref()
            .and_then(|status| status.chosen.as_ref())
            != Some(&chosen)
        {
            write_status(&cx, &json!({"chosen": chosen})).await?;
        }
        done()
    }
    pair(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Deletes one of two objects.
#[test]
fn the_clean_up_forgets_an_object() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let names: &[&str] = if BUGGY { &["log"] } else { &["log", "map"] };
        for what in names {
            if let Some(child) = cx.get_live::<ConfigMap>(&*name(&ship, what)).await? {
                cx.delete(&*child).await?;
            }
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        cx.apply_unowned(&map(&name(&ship, "map"), "course", "west"))
            .await?;
        done()
    }
    pair(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Keeps the finalizer for ever, because it waits for a child that only the garbage collector deletes afterwards.
#[test]
fn a_finalizer_waits_for_the_garbage_collector() {
    async fn cleanup<const BUGGY: bool>(_: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let children = cx.children::<ConfigMap>()?;
        for child in children.iter().filter(|_| !BUGGY) {
            cx.delete(&**child).await?;
        }
        if BUGGY && !children.is_empty() {
            anyhow::bail!("there are children left");
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        done()
    }
    pair(
        |manager| {
            ships(manager)
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            ships(manager)
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Writes down that it has cleaned up before all is deleted.
#[test]
fn the_clean_up_is_done_before_it_is() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        if BUGGY && ship.status.as_ref().is_some_and(|it| it.phase == "Clean") {
            return Ok(Cleanup::Done);
        }
        for what in ["log", "map"] {
            if let Some(child) = cx.get_live::<ConfigMap>(&*name(&ship, what)).await? {
                cx.delete(&*child).await?;
            }
            if BUGGY {
                write_status(&cx, &json!({"phase": "Clean"})).await?;
            }
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply_unowned(&log(&ship)).await?;
        cx.apply_unowned(&map(&name(&ship, "map"), "course", "west"))
            .await?;
        done()
    }
    pair(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Reads in the first object where the second one is, and deletes the first one first.
#[test]
fn the_clean_up_deletes_what_it_needs() {
    async fn cleanup<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> CleanedUp {
        let Some(log) = cx.get_live::<ConfigMap>(&*name(&ship, "log")).await? else {
            return Ok(Cleanup::Done);
        };
        let mut names = vec![name(&ship, "log")];
        let treasure = log
            .data
            .iter()
            .flatten()
            .find(|(key, _)| *key == "treasure");
        names.extend(treasure.map(|(_, name)| name.clone()));
        if !BUGGY {
            names.reverse();
        }
        for name in names {
            if let Some(child) = cx.get_live::<ConfigMap>(&*name).await? {
                cx.delete(&*child).await?;
            }
        }
        Ok(Cleanup::Done)
    }
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let treasure = name(&ship, "treasure");
        cx.apply_unowned(&map(&name(&ship, "log"), "treasure", &treasure))
            .await?;
        cx.apply_unowned(&map(&treasure, "gold", "yes")).await?;
        done()
    }
    pair(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<true>)
                .reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships
                .finalizer(FINALIZER, cleanup::<false>)
                .reconcile(reconcile);
        },
    );
}

/// Takes over an object of someone else, which is then deleted along with its new owner.
#[test]
fn an_object_of_someone_else_is_taken_over() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut child = log(&ship);
        if !BUGGY {
            child.metadata.name = Some(name(&ship, "own-log"));
        }
        child.metadata.owner_references =
            kube::Resource::controller_owner_ref(&*ship, &()).map(|it| vec![it]);
        cx.apply_unowned(&child).await?;
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        |register| voyage(register).world(&map("argo-log", "owner", "someone")),
    );
}
