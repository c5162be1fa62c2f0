//! Test when a reconcile runs again: after errors that decide it, with a back-off of the controller's own, and
//! periodically.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kbr_testing::{FakeApi, eventually};
use kube::CustomResourceExt as _;
use manager::{Action, Context, Manager, kind, retry_after, terminal, waiting};
use serde_json::json;

use crate::support::{Captain, SOON, captain, object, reached};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_terminal_error_is_reported_once_and_retried_when_the_object_changes() {
    let api = FakeApi::new();
    let put = |chart| api.put(&captain("ahab", chart));
    put("torn");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(move |captain: Arc<Captain>, cx| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move {
                    let islands = captain.spec.chart.parse::<u8>().map_err(terminal);
                    let islands = islands.context("cannot read the chart")?;
                    cx.ready("Read", format!("{islands} islands"));
                    Ok(Action::await_change())
                }
            });
    };
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    api.advance(24 * HOUR);
    run.idle().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);

    let ready = || {
        let captain: Captain = api.get("default", "ahab").unwrap();
        let mut conditions = captain.status.unwrap().conditions;
        conditions.pop().unwrap()
    };
    let message = "cannot read the chart: invalid digit found in string";
    let failed = ready();
    assert_eq!(
        (&*failed.status, &*failed.reason),
        ("False", "ReconcileFailed")
    );
    assert_eq!(failed.message, message);
    let event = async || Ok(api.all::<Event>().pop());
    let event = eventually(SOON, "the event", event).await.unwrap();
    assert_eq!(event.reason.as_deref(), Some("ReconcileFailed"));
    assert_eq!(event.note.as_deref(), Some(message));

    put("12");
    reached(&count, 2).await;
    run.idle().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(ready().message, "12 islands");
}

#[tokio::test]
async fn a_reconcile_that_waits_for_an_object_shows_its_reason_and_runs_when_that_appears() {
    async fn reconcile(_: Arc<Captain>, cx: Context<Captain>) -> anyhow::Result<Action> {
        if cx.get::<ConfigMap>("chart")?.is_none() {
            return Err(waiting("ChartNotFound", "the ConfigMap `chart` is missing"));
        }
        cx.ready("Read", "the chart is there");
        Ok(Action::await_change())
    }
    let api = FakeApi::new();
    api.put(&captain("ahab", ""));
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .watches(kind::<ConfigMap>(), |_, cached| {
                cached.list::<Captain>().keys()
            })
            .reconcile(reconcile);
    };
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    let ready = || {
        let captain: Captain = api.get("default", "ahab").unwrap();
        let mut conditions = captain.status.unwrap().conditions;
        let ready = conditions.pop().unwrap();
        (ready.status, ready.reason, ready.message)
    };
    let text = |text: &str| text.to_owned();
    let missing = text("the ConfigMap `chart` is missing");
    assert_eq!(ready(), (text("False"), text("ChartNotFound"), missing));
    assert!(api.all::<Event>().is_empty());

    api.put(&object("chart", ""));
    let read = async || Ok((ready().0 == "True").then_some(()));
    eventually(SOON, "the chart is read", read).await.unwrap();
}

#[tokio::test]
async fn a_terminal_error_is_retried_while_the_status_cannot_be_written() {
    let api = FakeApi::new();
    let mut crd = serde_json::to_value(Captain::crd()).unwrap();
    crd["spec"]["versions"][0]["subresources"] = json!({});
    api.define(&crd);
    api.put(&captain("ahab", ""));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<Captain>("captain");
        controller
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .backoff(MINUTE, MINUTE)
            .reconcile(move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { Err(terminal(anyhow::anyhow!("no such chart"))) }
            });
    };
    let mut run = api.run(register).unwrap();
    for failures in 1..4 {
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), failures);
        api.advance(MINUTE);
    }
}

/// The count of the reconciles of one object, which always fail with an error that `error` makes.
fn failing(
    api: &FakeApi,
    first: Duration,
    longest: Duration,
    error: impl Fn() -> anyhow::Error + Send + Sync + 'static,
) -> (Arc<AtomicUsize>, kbr_testing::Run) {
    api.put(&object("a", ""));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller.backoff(first, longest).reconcile(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            let error = error();
            async move { Err(error) }
        });
    };
    let run = api.run(register).unwrap();
    (count, run)
}

#[tokio::test]
async fn a_controller_backs_off_as_it_was_registered() {
    let api = FakeApi::new();
    let error = || anyhow::anyhow!("no wind");
    let (count, mut run) = failing(&api, HOUR, 3 * HOUR, error);
    for (failures, delay) in [1, 2, 3, 3].into_iter().enumerate() {
        run.idle().await.unwrap();
        api.advance(delay * 59 * MINUTE);
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), failures + 1);
        api.advance(delay * MINUTE);
    }
    run.idle().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn an_error_can_name_the_time_of_its_retry() {
    let api = FakeApi::new();
    let error = || retry_after(2 * HOUR, anyhow::anyhow!("closed"));
    let (count, mut run) = failing(&api, SECOND, SECOND, error);
    for failures in 1..5 {
        run.idle().await.unwrap();
        api.advance(119 * MINUTE);
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), failures);
        api.advance(MINUTE);
    }
}

#[tokio::test]
async fn a_resync_reconciles_each_object_within_the_period_and_not_all_at_once() {
    const OBJECTS: usize = 50;
    let api = FakeApi::new();
    for number in 0..OBJECTS {
        api.put(&object(&format!("a{number}"), ""));
    }
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller.resync(2 * HOUR).reconcile(move |_, _| {
            let nth = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                anyhow::ensure!(nth != 0, terminal(anyhow::anyhow!("the first one")));
                Ok(Action::await_change())
            }
        });
    };
    let mut run = api.run(register).unwrap();
    run.idle().await.unwrap();
    api.advance(59 * MINUTE);
    run.idle().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), OBJECTS);
    api.advance(HOUR / 2);
    run.idle().await.unwrap();
    let early = count.load(Ordering::SeqCst);
    assert!(OBJECTS < early && early < 2 * OBJECTS, "{early}");
    api.advance(31 * MINUTE);
    run.idle().await.unwrap();
    assert!(count.load(Ordering::SeqCst) >= 2 * OBJECTS);
}

#[tokio::test]
async fn impossible_delays_are_reported_at_start() {
    let wrong = |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller
            .backoff(HOUR, SECOND)
            .resync(Duration::ZERO)
            .reconcile(async |_, _| Ok(Action::await_change()));
    };
    let error = FakeApi::new().run(wrong).unwrap_err().to_string();
    assert!(
        error.contains("cannot back off from 3600s to 1s"),
        "{error}"
    );
    assert!(error.contains("every object every 0ns"), "{error}");
}
