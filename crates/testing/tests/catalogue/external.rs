//! Operators that call a service outside the cluster.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::jiff::Timestamp;
use kbr_testing::{External, Simulation, simulate};
use manager::{Cleanup, Context, Manager};

use crate::kinds::{Reconciled, Ship, done, found, histories, ship, unsuspected};

/// A harbor, which assigns berths: the ship of each.
type Berths = BTreeMap<String, String>;

#[derive(Clone)]
struct Harbor(External<Berths>);

impl Harbor {
    /// The berth of a ship, if it has one.
    async fn find(&self, ship: &str) -> anyhow::Result<Option<String>> {
        let find = |berths: &mut Berths| {
            let mut found = berths.iter().filter(|(_, moored)| *moored == ship);
            found.next().map(|(berth, _)| berth.clone())
        };
        self.0.call(&format!("looks for {ship}"), find).await
    }

    /// Assigns another berth to a ship.
    async fn moor(&self, ship: &str) -> anyhow::Result<String> {
        let moor = |berths: &mut Berths| {
            let berth = format!("berth-{}", berths.len() + 1);
            berths.insert(berth.clone(), ship.to_owned());
            berth
        };
        self.0
            .call(&format!("assigns a berth to {ship}"), moor)
            .await
    }

    /// Writes down once that a ship has arrived, under its uid.
    async fn log(&self, ship: &Ship, at: Timestamp) -> anyhow::Result<()> {
        let uid = ship.metadata.uid.clone().unwrap_or_default();
        let log = |entries: &mut Berths| {
            entries.entry(uid).or_insert(at.to_string());
        };
        self.0.call("writes a log", log).await
    }

    /// Forgets the ship with this uid.
    async fn forget(&self, uid: &str) -> anyhow::Result<()> {
        let forget = |entries: &mut Berths| drop(entries.remove(uid));
        self.0.call("forgets a ship", forget).await
    }

    async fn leave(&self, ship: &str) -> anyhow::Result<()> {
        let leave = |berths: &mut Berths| berths.retain(|_, moored| moored != ship);
        self.0.call(&format!("lets {ship} leave"), leave).await
    }
}

fn simulation(register: fn(&mut Manager, &Harbor)) -> Simulation {
    let client = Harbor(External::new("harbor"));
    let simulation = simulate(move |manager| register(manager, &client));
    simulation.object(&ship("argo"))
}

#[track_caller]
fn pair(buggy: fn(&mut Manager, &Harbor), repaired: fn(&mut Manager, &Harbor)) {
    found(simulation(buggy));
    unsuspected(simulation(repaired).histories(histories()));
}

fn register<const BUGGY: bool, const FINALIZES: bool>(manager: &mut Manager, harbor: &Harbor) {
    let ships = manager.controller::<Ship>("ship");
    let leaving = harbor.clone();
    let ships = if FINALIZES {
        ships.finalizer("crew.example.com/berth", move |ship: Arc<Ship>, _| {
            let harbor = leaving.clone();
            async move {
                harbor
                    .leave(ship.metadata.name.as_deref().unwrap_or_default())
                    .await?;
                Ok(Cleanup::Done)
            }
        })
    } else {
        ships
    };
    let harbor = harbor.clone();
    ships.reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
        let harbor = harbor.clone();
        async move { moor::<BUGGY>(&ship, &cx, &harbor).await }
    });
}

async fn moor<const BUGGY: bool>(ship: &Ship, cx: &Context<Ship>, harbor: &Harbor) -> Reconciled {
    let written = ship
        .status
        .as_ref()
        .and_then(|status| status.chosen.clone());
    let berth = match written {
        Some(berth) => berth,
        None if BUGGY => harbor.moor(cx.name()).await?,
        None => match harbor.find(cx.name()).await? {
            Some(berth) => berth,
            None => harbor.moor(cx.name()).await?,
        },
    };
    cx.status(|status| status.chosen = Some(berth));
    done()
}

/// Does not ask whether it has been assigned a berth: if the answer is lost, or the process ends before the status is
/// written, it gets another one.
#[test]
fn a_call_whose_answer_is_lost_is_made_again() {
    pair(register::<true, true>, register::<false, true>);
}

/// Has no finalizer, so what the service holds stays for ever.
#[test]
fn what_the_service_holds_is_left() {
    pair(register::<false, false>, register::<false, true>);
}

/// Never forgets a ship that has left.
#[test]
fn the_service_knows_uids_and_times() {
    fn register<const BUGGY: bool>(manager: &mut Manager, harbor: &Harbor) {
        let (leaving, arriving) = (harbor.clone(), harbor.clone());
        let ships = manager.controller::<Ship>("ship");
        let ships = ships.finalizer("crew.example.com/log", move |ship: Arc<Ship>, _| {
            let harbor = leaving.clone();
            async move {
                if !BUGGY {
                    harbor
                        .forget(ship.metadata.uid.as_deref().unwrap_or_default())
                        .await?;
                }
                Ok(Cleanup::Done)
            }
        });
        ships.reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let harbor = arriving.clone();
            async move {
                harbor.log(&ship, cx.now()).await?;
                done()
            }
        });
    }
    pair(register::<true>, register::<false>);
}
