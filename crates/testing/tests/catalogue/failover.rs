//! Operators with two replicas, of which one leads.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{Oracle, Simulation, simulate};
use kube::{
    Api, Resource as _,
    api::{Patch, PatchParams, PostParams},
};
use manager::{Action, Cleanup, Context, Manager};
use serde_json::json;

use crate::kinds::{Reconciled, Ship, done, log, map, name, pair_in, raw, ship, ships, voyage};

/// Applies a child that it does not watch, whatever is there: the write of a former leader arrives late, and no one repairs
/// what it overwrites. `cx.apply` says which state it replaces.
#[test]
fn a_late_write_of_the_former_leader_overwrites_that_of_the_next() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if !BUGGY {
            cx.apply(&log(&ship)).await?;
            return done();
        }
        let mut child = log(&ship);
        child.metadata.owner_references = ship.controller_owner_ref(&()).map(|owner| vec![owner]);
        let mut child = json!(child);
        child["apiVersion"] = json!("v1");
        child["kind"] = json!("ConfigMap");
        let (params, patch) = (PatchParams::apply("ship").force(), Patch::Apply(&child));
        let maps = raw::<ConfigMap>(&cx);
        maps.patch(&name(&ship, "log"), &params, &patch).await?;
        done()
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        let simulation = simulate(register).object(&ship("argo"));
        simulation.user("changes the flag", |api| {
            api.edit::<Ship>("default", "argo", |ship| {
                ship.spec.flag = Some("blue".to_owned());
            });
        })
    }
    pair_in(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships.reconcile(reconcile::<true>);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships.reconcile(reconcile::<false>);
        },
        scenario,
    );
}

/// Begins to work in each replica, whether it leads or not.
#[test]
fn a_replica_that_stands_by_works() {
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
        let client = manager.client();
        let greet = move |_| async move {
            let maps: Api<ConfigMap> = Api::namespaced(client, "default");
            let greeting =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ahoy": "ahoy"}});
            let params = PatchParams::apply("ship").force();
            let patch = Patch::Apply(&greeting);
            while maps.patch("greeting", &params, &patch).await.is_err() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Ok(())
        };
        if BUGGY {
            manager.always("greet", greet);
        } else {
            manager.leading("greet", greet);
        }
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        voyage(register).without(Oracle::NothingLeft, "the greeting stays")
    }
    pair_in(register::<true>, register::<false>, scenario);
}

/// The election of the library: whatever happens to the leader, only one replica writes, and the other one goes on.
#[test]
fn two_replicas_never_write_at_once() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.apply(&log(&ship)).await?;
        for at in 0..ship.spec.sails {
            let sail = map(&name(&ship, &at.to_string()), "sail", "set");
            cx.apply(&sail).await?;
            // In the meantime, the Lease may expire.
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        for sail in cx.children::<ConfigMap>()? {
            let number = sail.metadata.name.as_deref().unwrap_or_default();
            let number = number
                .rsplit_once('-')
                .and_then(|(_, at)| at.parse::<u32>().ok());
            if number.is_some_and(|at| at >= ship.spec.sails) {
                cx.delete(&*sail).await?;
            }
        }
        cx.status(|status| "Ready".clone_into(&mut status.phase));
        Ok(Action::await_change())
    }
    fn register(manager: &mut Manager) {
        ships(manager)
            .finalizer("crew.example.com/ship", async |_, _| Ok(Cleanup::Done))
            .reconcile(reconcile);
    }
    for how in ["ended", "ended-warm", "unrenewed", "cut-off", "late-write"] {
        let all = (1..9).map(|write| format!("failover:{how}@{write}"));
        let simulation = all.fold(voyage(register), |it, plan| it.replay(&plan));
        let summary = simulation.check().unwrap();
        assert_eq!(summary.patterns["failover"], 8);
    }
}

/// A warm standby whose watches are dead does not know what the last leader has created: before it works, the library
/// lets its caches catch up.
#[test]
fn a_warm_standby_sees_what_the_last_leader_has_created() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if cx.children::<ConfigMap>()?.is_empty() {
            let mut log = log(&ship);
            log.metadata.name = None;
            log.metadata.generate_name = Some(name(&ship, "log-"));
            let owner = ship.controller_owner_ref(&());
            log.metadata.owner_references = owner.map(|owner| vec![owner]);
            raw(&cx).create(&PostParams::default(), &log).await?;
        }
        done()
    }
    let simulation = voyage(|manager| ships(manager).reconcile(reconcile));
    let summary = simulation.replay("failover:ended-warm@1").check().unwrap();
    assert_eq!(summary.patterns["failover"], 1);
}
