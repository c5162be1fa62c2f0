//! Operators that ask for lists that may be out of date, from an API server that lags behind.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::simulate;
use kube::{
    Resource as _,
    api::{GetParams, ListParams, PostParams},
};
use manager::{Cleanup, Context, Manager};

use crate::kinds::{
    Reconciled, Ship, done, histories, log, map, name, pair, raw, ship, ships, voyage,
};

/// Creates a child with a random name unless it finds one, in a list with `resourceVersion=0`: after a restart, that may
/// be older than the child.
#[test]
fn an_old_list_does_not_show_what_was_created() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut params = ListParams::default().labels("crew.example.com/log=true");
        if BUGGY {
            params = params.match_any();
        }
        let maps = raw::<ConfigMap>(&cx);
        let mut found = maps.list(&params).await?.items.into_iter();
        let owner = ship.controller_owner_ref(&()).unwrap_or_default();
        let is_own = |map: &ConfigMap| map.metadata.owner_references == Some(vec![owner.clone()]);
        if !found.any(|map| is_own(&map)) {
            let mut log = map("", "ship", cx.name());
            log.metadata.name = None;
            log.metadata.generate_name = Some(name(&ship, "log-"));
            let label = ("crew.example.com/log".to_owned(), "true".to_owned());
            log.metadata.labels = Some([label].into());
            log.metadata.owner_references = Some(vec![owner.clone()]);
            maps.create(&PostParams::default(), &log).await?;
        }
        done()
    }
    pair(
        |manager| plain(manager).reconcile(reconcile::<true>),
        |manager| plain(manager).reconcile(reconcile::<false>),
    );
}

/// Copies the number of sails from an object that it gets with `resourceVersion=0`, and never looks again.
#[test]
fn an_old_object_is_copied() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let params = if BUGGY {
            GetParams::any()
        } else {
            GetParams::default()
        };
        let current = raw::<Ship>(&cx).get_with(cx.name(), &params).await?;
        let mut log = log(&ship);
        let data = log.data.get_or_insert_default();
        data.insert("sails".to_owned(), current.spec.sails.to_string());
        cx.apply(&log).await?;
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

fn plain(manager: &mut Manager) -> manager::Controller<'_, Ship> {
    manager.controller::<Ship>("ship")
}

/// The caches of the library never ask for a list that may be out of date, so there is nothing to try: neither at their
/// start nor when they list again.
#[test]
fn the_library_lists_what_is_stored() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        cx.status(|status| "Ready".clone_into(&mut status.phase));
        done()
    }
    fn register(manager: &mut Manager) {
        ships(manager)
            .finalizer("crew.example.com/ship", async |_, _| Ok(Cleanup::Done))
            .reconcile(reconcile);
    }
    // As many as have each pattern.
    let summary = voyage(register)
        .histories(histories().max(20))
        .check()
        .unwrap();
    assert!(!summary.patterns.contains_key("lagging"), "{summary}");
    assert!(summary.patterns.contains_key("unobserved"), "{summary}");
    let pinned = simulate(register).object(&ship("argo"));
    pinned.replay("lag@1,crash-after@1").check().unwrap();
}
