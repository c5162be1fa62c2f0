//! The same seed gives the same trace, byte for byte, in another process, too.

use std::{env, process::Command, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use manager::{Cleanup, Context, Manager, metadata};

use crate::kinds::{Reconciled, Ship, done, is_quick, log, map, name, ships, voyage};

/// Two controllers of several kinds, which write a status, events and children.
fn register(manager: &mut Manager) {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        cx.event("Sails", "it sails");
        cx.apply(&log(&ship)).await?;
        cx.ready("Sails", "all sails are set");
        cx.status(|status| "Ready".clone_into(&mut status.phase));
        done()
    }
    async fn crew(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        for at in 0..ship.spec.sails {
            cx.apply(&map(&name(&ship, &at.to_string()), "sail", "set"))
                .await?;
        }
        done()
    }
    let fleet = ships(manager)
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation));
    fleet.reconcile(reconcile);
    let crews = manager
        .controller::<Ship>("crew")
        .owns(metadata::<ConfigMap>());
    crews
        .finalizer("crew.example.com/crew", async |_, _| Ok(Cleanup::Done))
        .reconcile(crew);
}

#[test]
fn random_values_of_the_context_are_the_same_for_the_same_seed() {
    fn register(manager: &mut Manager) {
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            let log = name(&ship, "log");
            if cx.get::<ConfigMap>(&*log)?.is_none() {
                let number = u64::from_le_bytes(cx.random());
                cx.apply(&map(&log, "number", &number.to_string())).await?;
            }
            done()
        });
    }
    let summary = voyage(register).histories(30).check().unwrap().to_string();
    assert!(!summary.contains("two equal histories differ"), "{summary}");
}

/// The traces of many seeds, with and without faults.
fn traces() -> String {
    let trace = |seed| {
        let faults = [
            "",
            "latency:7,crash-after@2",
            "latency:3,unanswered@3,resync@5",
        ];
        let plan = faults[usize::try_from(seed % 3).unwrap()];
        let simulation = (0..3).fold(voyage(register), |simulation, at| {
            let mut ship = crate::kinds::ship(&format!("ship-{at}"));
            ship.spec.sails = at;
            simulation.object(&ship)
        });
        simulation.trace(plan, seed)
    };
    // A seed takes 150 ms.
    let seeds = if is_quick() { 30 } else { 100 };
    (0..seeds).map(trace).collect()
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let here = traces();
    // In the other process.
    if env::var_os("KBR_TRACES").is_some() {
        println!("<<<{here}>>>");
        return;
    }
    assert!(here.lines().count() > 1_000, "{here}");
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--exact",
        "same::the_same_seed_gives_the_same_trace",
        "--nocapture",
    ]);
    let output = command.env("KBR_TRACES", "1").output().unwrap();
    let there = String::from_utf8(output.stdout).unwrap();
    let (_, there) = there.split_once("<<<").unwrap();
    let (there, _) = there.split_once(">>>").unwrap();
    let mut lines = here.lines().zip(there.lines());
    if let Some((one, two)) = lines.find(|(one, two)| one != two) {
        panic!("they differ:\n{one}\n{two}");
    }
    assert_eq!(here.len(), there.len());
}
