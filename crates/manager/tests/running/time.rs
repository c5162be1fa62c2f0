//! Test time that passes only in the test.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kbr_testing::{FakeApi, Run};
use manager::{Action, Manager};

use tokio::time::Instant;

use crate::support::{Said, object, reached, reached_within};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs a manager with one object, `a`. Returns it with the count of its reconciles; `step` returns the action of each.
fn run<R>(
    timeout: Duration,
    step: impl Fn(usize) -> R + Send + Sync + Clone + 'static,
) -> (FakeApi, Arc<AtomicUsize>, Run)
where
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller
            .reconcile_timeout(timeout)
            .reconcile(move |_, _| {
                let count = counted.fetch_add(1, Ordering::SeqCst) + 1;
                step(count)
            });
    };
    let run = api.run(register).unwrap();
    (api, count, run)
}

#[tokio::test]
async fn a_requeue_happens_once_its_delay_has_passed() {
    let (api, count, mut run) = run(HOUR, async |_| Ok(Action::requeue(HOUR)));
    for hours in 1..=24 {
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), hours);
        api.advance(59 * MINUTE);
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), hours);
        api.advance(MINUTE);
    }
}

#[tokio::test]
async fn failures_back_off_up_to_1000_seconds() {
    let (api, count, mut run) = run(HOUR, async |_| anyhow::bail!("told to fail"));
    // 5 ms, doubled 17 times, is 655 s; after that, each delay is 1,000 s.
    while count.load(Ordering::SeqCst) < 20 {
        run.idle().await.unwrap();
        api.advance(Duration::from_secs(1000));
    }
    for failures in 21..25 {
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), failures);
        api.advance(Duration::from_secs(900));
        run.idle().await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), failures);
        api.advance(Duration::from_secs(100));
    }
}

#[tokio::test]
async fn a_hanging_reconcile_is_cancelled_at_its_timeout() {
    let (api, count, mut run) = run(HOUR, async |count| {
        if count == 1 {
            std::future::pending::<()>().await;
        }
        Ok(Action::await_change())
    });
    reached(&count, 1).await;
    api.advance(HOUR);
    reached(&count, 2).await;
    run.idle().await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_dropped_manager_stops_reconciling() {
    let (api, count, mut run) = run(HOUR, async |_| Ok(Action::requeue(HOUR)));
    run.idle().await.unwrap();
    drop(run);
    // The counter was moved into the controller, and is dropped with it.
    while Arc::strong_count(&count) > 1 {
        tokio::task::yield_now().await;
    }
    api.advance(HOUR);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_registration_error_is_reported_immediately() {
    let twice = |manager: &mut Manager| {
        for _ in 0..2 {
            let controller = manager.controller::<ConfigMap>("map");
            controller.reconcile(async |_, _| Ok(Action::await_change()));
        }
    };
    let error = FakeApi::new().run(twice).unwrap_err().to_string();
    assert!(error.contains("two controllers `map`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_keeps_requeuing_immediately_backs_off() {
    let started = Instant::now();
    let (_api, count, _run) = run(HOUR, async |count| {
        Ok(match count {
            11 => Action::requeue(HOUR),
            13 => Action::await_change(),
            _ => Action::again(),
        })
    });
    reached(&count, 11).await;
    // 5 ms, doubled nine times, is 5,115 ms in total.
    assert_eq!(started.elapsed().as_secs(), 5);
    reached_within(2 * HOUR, &count, 13).await;
    assert_eq!(started.elapsed().as_secs(), 3605);
}

#[tokio::test]
async fn a_requeue_at_a_time_follows_the_clock_of_the_test() {
    let tomorrow = Timestamp::now() + 24 * HOUR;
    let api = FakeApi::new();
    api.put(&object("a", ""));
    let said = Said::default();
    let says = said.clone();
    let register = move |manager: &mut Manager| {
        let controller = manager.controller::<ConfigMap>("map");
        controller.reconcile(move |_, cx| {
            let due = cx.now() >= tomorrow;
            says.say(if due { "due" } else { "early" });
            async move {
                Ok(if due {
                    Action::await_change()
                } else {
                    Action::requeue_at(tomorrow)
                })
            }
        });
    };
    let mut run = api.run(register).unwrap();
    for _ in 0..23 {
        run.idle().await.unwrap();
        api.advance(HOUR);
    }
    run.idle().await.unwrap();
    assert_eq!((said.count("early"), said.count("due")), (1, 0));
    api.advance(HOUR);
    run.idle().await.unwrap();
    assert_eq!((said.count("early"), said.count("due")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_requeue_at_a_past_time_backs_off() {
    let started = Instant::now();
    let (_api, count, _run) = run(HOUR, async |count| {
        Ok(match count {
            11 => Action::await_change(),
            _ => Action::requeue_at(Timestamp::UNIX_EPOCH),
        })
    });
    reached(&count, 11).await;
    assert_eq!(started.elapsed().as_secs(), 5);
}
