//! Test the queue, with time that is simulated.

use tokio::time::{self, timeout};

use super::*;

fn queue() -> Queue {
    let queue = Queue::new(QueueMetrics::default(), Timer::for_tests());
    queue.open();
    queue
}

/// The next key, if one is available now.
async fn now(queue: &Queue) -> Option<String> {
    let key = timeout(Duration::from_nanos(1), queue.next()).await.ok();
    key.map(|key| key.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_key_added_twice_is_queued_once() {
    let queue = queue();
    queue.add("a".into());
    queue.add("a".into());
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
    assert_eq!(now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_always_requeued_overtakes_the_others_only_once() {
    let queue = queue();
    for key in ["a", "b", "c"] {
        queue.add(key.into());
    }
    let mut order = String::new();
    for _ in 0..7 {
        let key = now(&queue).await.unwrap();
        order.push_str(&key);
        if key == "a" {
            queue.add("a".into());
        }
        queue.done(&Key::from(&key));
    }
    assert_eq!(order, "aabcaaa");
}

#[tokio::test(start_paused = true)]
async fn keys_are_returned_in_the_order_they_were_added() {
    let queue = queue();
    for key in ["b", "a", "c"] {
        queue.add(key.into());
    }
    for key in ["b", "a", "c"] {
        assert_eq!(now(&queue).await.as_deref(), Some(key));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_added_during_its_reconcile_is_returned_once_afterwards() {
    let queue = queue();
    queue.add("a".into());
    assert!(now(&queue).await.is_some());
    queue.add("a".into());
    queue.add("a".into());
    assert_eq!(now(&queue).await, None);
    queue.done(&"a".into());
    assert!(now(&queue).await.is_some());
    queue.done(&"a".into());
    assert_eq!(now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_returned_after_its_delay() {
    let queue = queue();
    let start = Instant::now();
    queue.add_after("a".into(), Duration::from_secs(60));
    assert_eq!(queue.next().await, "a".into());
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn the_shortest_of_several_delays_applies_once() {
    let queue = queue();
    let start = Instant::now();
    for seconds in [60, 30, 90] {
        queue.add_after("a".into(), Duration::from_secs(seconds));
    }
    assert_eq!(queue.next().await, "a".into());
    assert_eq!(start.elapsed().as_secs(), 30);
    queue.done(&"a".into());
    assert!(
        timeout(Duration::from_secs(600), queue.next())
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_sees_a_delay_that_is_set_later() {
    let queue = std::sync::Arc::new(queue());
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await }
    });
    time::sleep(Duration::from_secs(1)).await;
    queue.add_after("a".into(), Duration::from_secs(1));
    assert_eq!(waiting.await.unwrap(), "a".into());
}

#[tokio::test(start_paused = true)]
async fn an_absurd_delay_does_not_panic() {
    let queue = queue();
    queue.add_after("a".into(), Duration::MAX);
    assert_eq!(now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn each_key_backs_off_on_its_own_until_it_is_forgotten() {
    let queue = queue();
    let delays: Vec<_> = (0..4)
        .map(|_| queue.add_rate_limited("a".into()).as_millis())
        .collect();
    assert_eq!(delays, [5, 10, 20, 40]);
    assert_eq!(queue.add_rate_limited("b".into()).as_millis(), 5);
    queue.forget(&"a".into());
    assert_eq!(queue.add_rate_limited("a".into()).as_millis(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_may_be_late_and_the_queue_is_not_idle_meanwhile() {
    let (minute, start) = (Duration::from_secs(60), Instant::now());
    let queue = Queue::new(QueueMetrics::default(), Timer::for_tests().late(minute));
    queue.open();
    queue.add_after("a".into(), minute);
    assert!(queue.is_idle());
    queue.timer.wind(minute);
    assert!(!queue.is_idle());
    assert_eq!(queue.next().await, "a".into());
    assert_eq!(start.elapsed(), minute);
}

#[tokio::test(start_paused = true)]
async fn advancing_the_clock_returns_delayed_keys() {
    let (queue, start) = (queue(), Instant::now());
    queue.add_after("a".into(), Duration::from_secs(60));
    queue.timer.wind(Duration::from_secs(59));
    assert!(queue.is_idle());
    queue.timer.wind(Duration::from_secs(1));
    assert!(!queue.is_idle());
    assert_eq!(queue.next().await, "a".into());
    assert!(!queue.is_idle());
    queue.done(&"a".into());
    assert!(queue.is_idle());

    queue.add_after("b".into(), Duration::from_secs(60));
    let wind = async { queue.timer.wind(Duration::from_secs(60)) };
    assert_eq!(tokio::join!(queue.next(), wind).0, "b".into());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_takes_no_keys() {
    let queue = Queue::new(QueueMetrics::default(), Timer::for_tests());
    queue.add("a".into());
    queue.open();
    queue.add("b".into());
    assert_eq!(now(&queue).await.as_deref(), Some("b"));
    assert_eq!(now(&queue).await, None);
}

/// Processes the keys that are ready, and returns them in order.
async fn order(queue: &Queue) -> String {
    let mut order = String::new();
    while let Some(key) = now(queue).await {
        queue.done(&Key::from(&*key));
        order.push_str(&key);
    }
    order
}

#[tokio::test(start_paused = true)]
async fn a_change_goes_before_keys_of_low_priority_even_if_it_waits_among_them() {
    let queue = queue();
    queue.add_all(["1", "2", "3"].map(Key::from).to_vec(), &Causes::default());
    queue.add("a".into());
    queue.add("3".into());
    // A key is never lowered.
    queue.add_with("3".into(), Priority::Low, &Causes::default(), Haste::Waits);
    assert_eq!(order(&queue).await, "a312");
}

#[tokio::test(start_paused = true)]
async fn a_key_of_low_priority_waits_for_at_most_four_others_whatever_changes() {
    let queue = queue();
    queue.add_all(["1", "2", "3"].map(Key::from).to_vec(), &Causes::default());
    let mut order = String::new();
    for _ in 0..16 {
        // Two that always change.
        queue.add("a".into());
        queue.add("b".into());
        let key = now(&queue).await.unwrap();
        queue.done(&Key::from(&*key));
        order.push_str(&key);
    }
    assert_eq!(order, "abab1abab2abab3a");
}

#[tokio::test(start_paused = true)]
async fn a_key_keeps_its_priority_when_it_is_retried_unless_it_changes() {
    let queue = queue();
    queue.add_all(["1", "2", "3"].map(Key::from).to_vec(), &Causes::default());
    for key in ["1", "2"] {
        assert_eq!(now(&queue).await.as_deref(), Some(key));
        queue.add_rate_limited(key.into());
    }
    // It changes during its reconcile.
    queue.add("2".into());
    for key in ["1", "2"] {
        queue.done(&key.into());
    }
    time::advance(Duration::from_millis(5)).await;
    assert_eq!(order(&queue).await, "231");
}

#[tokio::test(start_paused = true)]
async fn of_two_delays_the_higher_priority_applies() {
    for priorities in [
        [Priority::Low, Priority::Normal],
        [Priority::Normal, Priority::Low],
    ] {
        let queue = queue();
        for priority in priorities {
            queue.add_within(
                "b".into(),
                Duration::from_secs(1),
                priority,
                CauseKind::Requeue,
            );
        }
        queue.add_with("a".into(), Priority::Low, &Causes::default(), Haste::Waits);
        time::advance(Duration::from_secs(1)).await;
        assert_eq!(order(&queue).await, "ba");
    }
}

/// A queue whose two workers process keys of namespace `a`, with 10,000 more behind them.
async fn held() -> Queue {
    let queue = queue();
    queue.set_workers(2);
    for number in 0..10_002 {
        queue.add(Key::from(&format!("a/{number}")));
    }
    for key in ["a/0", "a/1"] {
        assert_eq!(now(&queue).await.as_deref(), Some(key));
    }
    assert_eq!(now(&queue).await, None);
    queue
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_hangs_and_has_a_flood_delays_no_other_by_a_second() {
    let (queue, start) = (held().await, Instant::now());
    queue.add("b/0".into());
    queue.add("b/1".into());
    assert_eq!(queue.next().await, "b/0".into());
    assert!(start.elapsed() < Duration::from_secs(1));
    // There is only one worker more.
    let another = timeout(Duration::from_secs(600), queue.next());
    assert!(another.await.is_err());
    queue.done(&"b/0".into());
    assert_eq!(queue.next().await, "b/1".into());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_sees_the_key_of_another_namespace_that_is_added_later() {
    let queue = std::sync::Arc::new(held().await);
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await }
    });
    time::sleep(Duration::from_secs(1)).await;
    queue.add("b/0".into());
    assert_eq!(waiting.await.unwrap(), "b/0".into());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_ends_takes_a_key_of_another_namespace_first() {
    let queue = held().await;
    queue.add("b/0".into());
    queue.done(&"a/0".into());
    // It is the turn of `a`, which has waited for longer, and then of `b`.
    assert_eq!(now(&queue).await.as_deref(), Some("a/2"));
    queue.done(&"a/1".into());
    assert_eq!(now(&queue).await.as_deref(), Some("b/0"));
}

#[tokio::test(start_paused = true)]
async fn the_period_of_a_resync_begins_anew_with_each_reconcile() {
    let (queue, start) = (queue(), Instant::now());
    queue.resync("a".into(), Duration::from_secs(60));
    time::advance(Duration::from_secs(50)).await;
    // It is reconciled for another reason, and asks for a later one.
    queue.add_after("a".into(), Duration::from_secs(600));
    queue.resync("a".into(), Duration::from_secs(60));
    assert_eq!(queue.next().await, "a".into());
    assert_eq!(start.elapsed().as_secs(), 110);
    queue.resync("a".into(), Duration::from_secs(6_000));
    queue.done(&"a".into());
    // A resync does not replace what was asked for.
    assert_eq!(queue.next().await, "a".into());
    assert_eq!(start.elapsed().as_secs(), 650);
}

#[tokio::test(start_paused = true)]
async fn a_key_has_the_causes_of_all_its_additions_and_a_delayed_one_those_of_its_delay() {
    let (queue, key) = (queue(), Key::from("a"));
    let causes = async || {
        now(&queue).await.unwrap();
        let causes = queue.causes(&key).to_string();
        queue.done(&key);
        causes
    };
    let add = |cause: Causes| {
        queue.add_with(key.clone(), Priority::Normal, &cause, Haste::Waits);
    };
    add(CauseKind::Start.into());
    add(Causes::trigger(Some(&"hourly".into())));
    assert_eq!(causes().await, "start; trigger hourly");
    queue.add_rate_limited(key.clone());
    queue.add_rate_limited(key.clone());
    queue.timer.wind(Duration::from_secs(1));
    assert_eq!(causes().await, "back-off after 2 failures");
    queue.add_after(key.clone(), Duration::from_secs(60));
    queue.resync(key.clone(), Duration::from_secs(60));
    queue.timer.wind(Duration::from_secs(60));
    assert_eq!(causes().await, "requeue; resync");
}

#[tokio::test(start_paused = true)]
async fn a_flood_keeps_only_the_kinds_of_its_causes() {
    let queue = queue();
    for number in 0..=DETAILED {
        let cause = Causes::trigger(Some(&"hourly".into()));
        let key = Key::from(&format!("{number}"));
        queue.add_with(key, Priority::Normal, &cause, Haste::Waits);
    }
    let causes = async || {
        let key = queue.next().await;
        queue.causes(&key).to_string()
    };
    assert_eq!(causes().await, "trigger hourly");
    for _ in 1..DETAILED {
        causes().await;
    }
    assert_eq!(causes().await, "trigger");
}

#[tokio::test(start_paused = true)]
async fn a_pace_holds_what_follows_a_reconcile_until_its_end_and_loses_nothing() {
    let (queue, key, start) = (queue(), Key::from("a"), Instant::now());
    let second = Duration::from_secs(1);
    queue.set_pace(second);
    queue.add(key.clone());
    assert_eq!(queue.next().await, key);
    // While it is processed, and afterwards.
    queue.add(key.clone());
    queue.done(&key);
    queue.add(key.clone());
    queue.add("b".into());
    assert_eq!(now(&queue).await.as_deref(), Some("b"));
    assert_eq!(now(&queue).await, None);
    assert_eq!(queue.next().await, key);
    assert_eq!(start.elapsed(), second);
    queue.done(&key);
    queue.done(&"b".into());
    assert!(queue.is_idle());
    time::sleep(second).await;
    queue.add(key.clone());
    assert_eq!(now(&queue).await.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn what_is_urgent_does_not_wait_for_a_hold() {
    let (queue, key) = (queue(), Key::from("a"));
    let add = |haste| queue.add_with(key.clone(), Priority::Normal, &Causes::default(), haste);
    let taken = async || {
        let taken = now(&queue).await;
        taken.map(|key| queue.done(&Key::from(&key))).is_some()
    };
    queue.slow(&key, Duration::from_secs(60));
    add(Haste::Waits);
    assert!(!taken().await);
    assert!(queue.is_idle());
    add(Haste::PastGuard);
    assert!(taken().await);

    queue.set_pace(Duration::from_secs(10));
    add(Haste::AtOnce);
    assert!(taken().await);
    add(Haste::PastGuard);
    assert!(!taken().await);
    queue.timer.wind(Duration::from_secs(10));
    assert!(taken().await, "only its pace held it");
    add(Haste::Waits);
    queue.timer.wind(Duration::from_secs(10));
    assert!(!taken().await, "the storm guard holds it, too");
    queue.timer.wind(Duration::from_secs(40));
    assert!(taken().await);
}
