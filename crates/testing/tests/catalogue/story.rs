//! What a simulation reports.

use std::{
    fs, panic,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
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
    let failure = voyage(buggy).check().unwrap_err();
    let (plan, story) = (&*failure.plan, failure.to_string());
    let name = "story::a_failure_is_a_story_with_the_line_that_replays_it";
    let replay = format!("replay: KBR_SIMULATE='{plan}' cargo test {name} -- --exact\n");
    assert!(story.contains(&replay), "{story}");
    assert!(story.contains("missing: Service default/argo"), "{story}");
    assert_eq!(plan, "crash-after@1", "it has one fault");
    assert_eq!(failure.oracle, Some(Oracle::FinalState));
    assert!(failure.histories > 1, "{}", failure.histories);
    assert!(story.lines().count() <= 20, "{story}");

    let replayed = voyage(buggy).replay(plan).check().unwrap_err();
    assert_eq!((replayed.to_string(), replayed.histories), (story, 2));
    let summary = voyage(repaired).replay(plan).check().unwrap();
    assert_eq!(summary.histories, 2);
}

#[test]
fn a_failure_is_reduced_to_the_faults_that_it_needs() {
    let replay = "latency:3,503@2,crash-after@1,resync@3";
    let failure = voyage(buggy).replay(replay).check().unwrap_err();
    assert_eq!(failure.plan, "crash-after@1");
}

#[test]
fn of_several_controllers_the_one_that_writes_is_named() {
    let register = |manager: &mut Manager| {
        buggy(manager);
        let maps = manager.controller::<ConfigMap>("map");
        maps.reconcile(async |_, _: Context<ConfigMap>| done());
    };
    let failure = voyage(register)
        .replay("crash-after@1")
        .check()
        .unwrap_err();
    let write = "write 1: the operator (ship) creates configmaps default/argo-log\n";
    assert!(failure.story.contains(write), "{failure}");
    let page = failure.timeline.unwrap();
    assert!(page.contains(">operator (ship)</text>"), "{page}");
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
    let failure = kbr_testing::simulate(repaired).check().unwrap_err();
    assert!(failure.story.contains("help: `.object("), "{failure}");
    assert_eq!((failure.oracle, failure.histories), (None, 0));
    assert_eq!(failure.timeline, None);
}

#[test]
fn what_cannot_be_simulated_is_a_failure_without_an_oracle() {
    let failure = voyage(repaired).replay("crash").check().unwrap_err();
    assert!(
        failure.story.contains("`crash` is not a fault"),
        "{failure}"
    );
    assert_eq!((failure.oracle, failure.histories), (None, 0));
    let panics = voyage(repaired).user("falls overboard", |_| panic!("help"));
    let failure = panics.check().unwrap_err();
    assert!(failure.story.ends_with(": help"), "{failure}");
    assert_eq!(failure.oracle, None);
}

#[test]
fn a_timeline_has_lanes_and_what_it_says_stays_text() {
    let hostile = "<script>alert(1)</script>";
    let simulation = voyage(buggy).user("defaces it", |api: &FakeApi| {
        api.edit::<Ship>("default", "argo", |ship| {
            ship.spec.flag = Some(hostile.to_owned());
        });
    });
    let failure = simulation.user(hostile, |_| ()).check().unwrap_err();
    let page = failure.timeline.unwrap();
    let lanes = [
        "user",
        "operator",
        "Ship default/argo",
        "ConfigMap default/argo-log",
    ];
    for lane in lanes {
        assert!(page.contains(&format!(">{lane}</text>")), "{lane}: {page}");
    }
    assert!(page.contains("write 1: the operator creates "), "{page}");
    assert!(
        page.contains("replay: KBR_SIMULATE=&#39;crash-after@1&#39;"),
        "{page}"
    );
    for outside in ["<script", "http", "src=", "href="] {
        assert!(!page.contains(outside), "{outside}: {page}");
    }
}

#[test]
fn a_timeline_is_kept_until_the_test_passes() {
    let failed = panic::catch_unwind(|| voyage(buggy).replay("crash-after@1").run());
    let failed = failed.unwrap_err();
    let (_, path) = failed
        .downcast_ref::<String>()
        .and_then(|story| story.split_once("\ntimeline: "))
        .unwrap();
    assert!(
        path.ends_with("simulate/story.a_timeline_is_kept_until_the_test_passes.html"),
        "{path}"
    );
    // It is shown from the workspace, if it is there.
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("Oracle::FinalState"), "{page}");

    voyage(repaired).replay("crash-after@1").run();
    assert!(!path.exists());
}
