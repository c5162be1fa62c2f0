//! What a simulation reports.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Oracle};
use manager::{Context, Manager};

use crate::kinds::{Reconciled, Ship, done, log, name, service, ship, ships, voyage};

/// Creates the second child only together with the first.
async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    let is_new = cx.get::<ConfigMap>(&*name(&ship, "log"))?.is_none();
    cx.apply(&log(&ship)).await?;
    if is_new || !BUGGY {
        cx.apply(&service(cx.name())).await?;
    }
    done()
}

fn buggy(manager: &mut Manager) {
    ships(manager).reconcile(reconcile::<true>);
}

fn repaired(manager: &mut Manager) {
    ships(manager).reconcile(reconcile::<false>);
}

#[test]
fn a_failure_is_a_story_with_the_line_that_replays_it() {
    let story = voyage(buggy).check().unwrap_err().to_string();
    let (_, replay) = story.split_once("KBR_SIMULATE='").unwrap();
    let (plan, test) = replay.split_once('\'').unwrap();
    let name = "story::a_failure_is_a_story_with_the_line_that_replays_it";
    assert!(
        test.starts_with(&format!(" cargo test {name} -- --exact\n")),
        "{story}"
    );
    assert!(story.contains("missing: Service default/argo"), "{story}");
    assert_eq!(plan, "crash-after@1", "it has one fault");
    assert!(story.lines().count() <= 20, "{story}");

    let replayed = voyage(buggy).replay(plan).check().unwrap_err();
    assert_eq!(replayed.to_string(), story);
    let summary = voyage(repaired).replay(plan).check().unwrap();
    assert_eq!(summary.histories, 2);
}

#[test]
fn a_failure_is_reduced_to_the_faults_that_it_needs() {
    let replay = "latency:3,503@2,crash-after@1,resync@3";
    let story = voyage(buggy).replay(replay).check().unwrap_err();
    assert!(
        story.to_string().contains("KBR_SIMULATE='crash-after@1'"),
        "{story}"
    );
}

#[test]
fn an_oracle_is_switched_off_with_a_reason() {
    let quiet = [Oracle::FinalState, Oracle::NothingLeft, Oracle::Counts];
    let simulation = quiet.into_iter().fold(voyage(buggy), |simulation, oracle| {
        simulation.without(oracle, "sails are optional")
    });
    let summary = simulation.histories(30).check().unwrap().to_string();
    assert!(summary.contains("30 histories: "), "{summary}");
    assert!(
        summary.contains("FinalState is not checked: sails are optional"),
        "{summary}"
    );
}

#[test]
fn an_invariant_is_checked_after_every_change() {
    let one_child = |api: &FakeApi| api.all::<ConfigMap>().len() < 2;
    let simulation = voyage(repaired)
        .object(&ship("other"))
        .always("there is one map", one_child);
    let story = simulation.check().unwrap_err().to_string();
    assert!(
        story.starts_with("«there is one map» does not hold\nwithout any fault:"),
        "{story}"
    );
}

/// Fails with an error that has a cause and a help.
fn failure() -> anyhow::Error {
    anyhow::anyhow!("the mast is broken\nhelp: repair the mast").context("cannot sail")
}

/// What a story says of it.
const FAILURE: &str =
    "fails: ship `default/argo`: cannot sail: the mast is broken\n    help: repair the mast\n";

#[test]
fn a_reconcile_that_fails_says_why() {
    fn register(manager: &mut Manager) {
        ships(manager).reconcile(async |_, _: Context<Ship>| Err(failure()));
    }
    let story = voyage(register).check().unwrap_err().to_string();
    let begin = format!("at rest, reconciles fail\n    {FAILURE}");
    assert!(story.starts_with(&begin), "{story}");
}

#[test]
fn what_a_failure_has_left_says_why() {
    fn register(manager: &mut Manager) {
        let ships = ships(manager).finalizer("crew.example.com/ship", async |_, _| Err(failure()));
        ships.reconcile(async |_, _: Context<Ship>| done());
    }
    let story = voyage(register).check().unwrap_err().to_string();
    assert!(story.starts_with("after the deletion, "), "{story}");
    assert!(story.contains(FAILURE), "{story}");
}

#[test]
fn what_a_failure_has_kept_from_happening_says_why() {
    // Once a lost answer has let it fail, it never tries again.
    fn register(manager: &mut Manager) {
        let failed = Arc::new(AtomicBool::new(false));
        ships(manager).reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let failed = failed.clone();
            async move {
                if failed.load(Ordering::SeqCst) {
                    return Err(manager::terminal(failure()));
                }
                let applied = cx.apply(&log(&ship)).await;
                failed.store(applied.is_err(), Ordering::SeqCst);
                applied?;
                done()
            }
        });
    }
    let story = voyage(register).replay("503@1").check().unwrap_err();
    let story = story.to_string();
    assert!(story.contains("missing: ConfigMap "), "{story}");
    assert!(story.contains(FAILURE), "{story}");
}

#[test]
fn there_is_nothing_to_simulate_without_an_object() {
    let error = kbr_testing::simulate(repaired).check().unwrap_err();
    assert!(error.to_string().contains("help: `.object("), "{error}");
}
