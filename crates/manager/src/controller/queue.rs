//! The work queue, designed like client-go's: only one worker at a time processes a key, and no key is lost.
//!
//! * A key that is added again before a worker takes it is in the queue once (*dirty*).
//! * A key that is added while a worker processes it (*processing*) returns when that worker is done; once, it does so
//!   ahead of others.
//! * A key that failed, or is requeued without a delay, returns after 5 ms, then 10 ms, doubled up to 1,000 s, or as the
//!   controller was registered. Each key backs off by itself.
//!
//! Source: `k8s.io/client-go/util/workqueue`, `queue.go`, `delaying_queue.go`, `default_rate_limiters.go`.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::{controller::timer::Timer, key::Key, metrics::QueueMetrics};

const FIRST_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// The keys that a controller has yet to process.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
    timer: Timer,
}

/// The shortest and the longest delay of a key that fails.
#[derive(Clone, Copy, Debug)]
struct Delays {
    first: Duration,
    longest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            first: FIRST_DELAY,
            longest: LONGEST_DELAY,
        }
    }
}

impl Delays {
    /// The delay after this many failures in a row.
    fn after(self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Key>,
    /// The keys to process, and since when.
    dirty: HashMap<Key, Instant>,
    /// The keys in progress, and since when.
    processing: HashMap<Key, Instant>,
    /// The keys to add later, in the time of the timer; `due` is the reverse map.
    delayed: BTreeSet<(Instant, Key)>,
    due: HashMap<Key, Instant>,
    failures: HashMap<Key, u32>,
    delays: Delays,
    /// The keys that have returned ahead of others.
    returned: HashSet<Key>,
}

impl Queue {
    pub(crate) fn new(metrics: QueueMetrics, timer: Timer) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            metrics,
            timer,
        }
    }

    /// Adds a key, which is processed as soon as a worker is free.
    pub(crate) fn add(&self, key: Key) {
        self.add_to(&mut self.lock(), key);
    }

    /// Sets the delays of keys that fail.
    pub(crate) fn set_backoff(&self, first: Duration, longest: Duration) {
        self.lock().delays = Delays { first, longest };
    }

    /// Adds a key after a delay, and counts it as a retry; if it is already delayed, the earlier time counts.
    pub(crate) fn add_after(&self, key: Key, delay: Duration) {
        self.metrics.retried();
        self.add_within(key, delay);
    }

    /// Adds a key at the latest after a delay: if it is already delayed, the earlier time counts.
    pub(crate) fn add_within(&self, key: Key, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let at = self.timer.after(delay);
        let mut state = self.lock();
        if let Some(&earlier) = state.due.get(&key) {
            if earlier <= at {
                return;
            }
            state.delayed.remove(&(earlier, key.clone()));
        }
        state.delayed.insert((at, key.clone()));
        state.due.insert(key, at);
        self.changed.notify_one();
    }

    /// Adds a key that failed, or is requeued without a delay. The delay doubles each time since the last
    /// [`forget`](Self::forget).
    pub(crate) fn add_rate_limited(&self, key: Key) -> Duration {
        let delay = {
            let mut state = self.lock();
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let failures = *failures;
            state.delays.after(failures)
        };
        self.add_after(key, delay);
        delay
    }

    /// Resets the back-off of a key.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().failures.remove(key);
    }

    /// Waits for a key to process; [`done`](Self::done) must follow. It is cancel safe.
    ///
    /// Only one caller at a time is allowed.
    pub(crate) async fn next(&self) -> Key {
        loop {
            let wake_at = {
                let mut state = self.lock();
                self.promote(&mut state);
                if let Some(key) = state.ready.pop_front() {
                    let added = state.dirty.remove(&key).unwrap_or_else(Instant::now);
                    let taken = self.metrics.taken(added);
                    state.processing.insert(key.clone(), taken);
                    self.metrics.depth(state.ready.len());
                    return key;
                }
                state.delayed.first().map(|(at, _)| *at)
            };
            match wake_at {
                Some(at) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = self.timer.until(at) => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    /// Ends the processing of a key. If the key was added meanwhile, it is in the queue again. Returns whether it is
    /// next.
    ///
    /// It goes ahead of others because what its last reconcile applied is still at hand. That happens only once in a
    /// row, so a key that changes all the time does not starve the others.
    pub(crate) fn done(&self, key: &Key) -> bool {
        let mut state = self.lock();
        if let Some(taken) = state.processing.remove(key) {
            self.metrics.done(taken);
        }
        let returned = state.returned.remove(key);
        if !state.dirty.contains_key(key) {
            return false;
        }
        if returned {
            self.push(&mut state, key.clone());
            return false;
        }
        state.returned.insert(key.clone());
        state.ready.push_front(key.clone());
        self.metrics.depth(state.ready.len());
        self.changed.notify_one();
        true
    }

    /// The keys in progress.
    pub(crate) fn processing(&self) -> Vec<Key> {
        self.lock().processing.keys().cloned().collect()
    }

    /// Whether no key is in progress or due.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn is_idle(&self) -> bool {
        let mut state = self.lock();
        self.promote(&mut state);
        state.ready.is_empty() && state.processing.is_empty()
    }

    fn add_to(&self, state: &mut State, key: Key) {
        if state.dirty.contains_key(&key) {
            return;
        }
        state.dirty.insert(key.clone(), Instant::now());
        self.metrics.added();
        if !state.processing.contains_key(&key) {
            self.push(state, key);
        }
    }

    fn push(&self, state: &mut State, key: Key) {
        state.ready.push_back(key);
        self.metrics.depth(state.ready.len());
        self.changed.notify_one();
    }

    /// Adds the keys whose delay has expired.
    fn promote(&self, state: &mut State) {
        let now = self.timer.now();
        while state.delayed.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = state.delayed.pop_first() {
                state.due.remove(&key);
                self.add_to(state, key);
            }
        }
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{self, timeout};

    use super::*;

    fn queue() -> Queue {
        Queue::new(QueueMetrics::default(), Timer::default())
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

    #[test]
    fn backoff_is_capped_at_1000_seconds() {
        let delays = Delays::default();
        assert_eq!(delays.after(18), Duration::from_millis(655_360));
        for failures in [19, 64, u32::MAX] {
            assert_eq!(delays.after(failures), Duration::from_secs(1000));
        }
    }
}
