//! Specs that change, and what of an earlier one stays.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use manager::Context;
use serde_json::{Map, json};

use crate::kinds::{Reconciled, Ship, done, flag, log, map, name, pair, raw, ships, write_status};

/// Creates a child for each sail, and deletes none.
#[test]
fn nothing_is_scaled_down() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted: Vec<_> = (0..ship.spec.sails)
            .map(|at| name(&ship, &at.to_string()))
            .collect();
        for sail in &wanted {
            cx.apply(&map(sail, "sail", "set")).await?;
        }
        for child in cx.children::<ConfigMap>()? {
            let is_wanted = child
                .metadata
                .name
                .as_ref()
                .is_some_and(|it| wanted.contains(it));
            if !is_wanted && !BUGGY {
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

/// Merges a field for each flag that there was, so an earlier one stays.
#[test]
fn a_merge_patch_leaves_old_fields() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let child = map(&name(&ship, "log"), &flag(&ship), "up");
        let known = cx.get::<ConfigMap>(&*name(&ship, "log"))?;
        if let Some(known) = known.filter(|known| BUGGY && known.data != child.data) {
            let is_up = known
                .data
                .iter()
                .flatten()
                .any(|(key, _)| *key == flag(&ship));
            if !is_up {
                let data: Map<_, _> = [(flag(&ship), json!("up"))].into_iter().collect();
                let (params, patch) = (PatchParams::default(), Patch::Merge(json!({"data": data})));
                let maps = raw::<ConfigMap>(&cx);
                maps.patch(&name(&ship, "log"), &params, &patch).await?;
            }
        } else {
            cx.apply(&child).await?;
        }
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Reports that it has seen a spec that it has not acted on: that of an object that it has read again.
#[test]
fn a_newer_spec_counts_as_done() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let seen = ship.status.as_ref().and_then(|it| it.observed_generation);
        if seen == ship.metadata.generation {
            return done();
        }
        cx.apply(&log(&ship)).await?;
        let mut generation = ship.metadata.generation;
        if BUGGY {
            let now = cx.get_live::<Ship>(cx.name()).await?;
            generation = now.and_then(|now| now.metadata.generation);
        }
        write_status(&cx, &json!({"observedGeneration": generation})).await?;
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

/// Remembers the largest number of sails that there ever was.
#[test]
fn a_status_never_goes_down() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        let sails = ship.spec.sails;
        cx.status(|status| {
            status.count = if BUGGY {
                status.count.max(sails)
            } else {
                sails
            }
        });
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}
