//! Objects that are to be reconciled at a time of day.
//!
//! Unlike a delay, such a time follows the clock of the machine when that is set, or has gone on while the machine was suspended. No
//! operating system reports that in the same way, so the clock is looked at now and then.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use k8s_openapi::jiff::Timestamp;
use tokio::sync::Notify;

use crate::{key::Key, timer::Timer};

/// How often the clock is looked at, and so how late a reconcile may be after the clock was set.
const CHECK: Duration = Duration::from_secs(5);

/// The times at which the objects of a controller are to be reconciled.
#[derive(Debug, Default)]
pub(crate) struct Appointments {
    state: Mutex<State>,
    added: Notify,
}

#[derive(Debug, Default)]
struct State {
    times: BTreeSet<(Timestamp, Key)>,
    /// The reverse map.
    keys: HashMap<Key, Timestamp>,
}

impl Appointments {
    /// Adds a time for a key; if it has one already, the earlier one counts.
    pub(crate) fn add(&self, key: Key, mut time: Timestamp) {
        let mut state = self.lock();
        if let Some(earlier) = state.keys.remove(&key) {
            state.times.remove(&(earlier, key.clone()));
            time = time.min(earlier);
        }
        state.times.insert((time, key.clone()));
        state.keys.insert(key, time);
        self.added.notify_one();
    }

    /// Waits until some are due, and takes them. It is cancel safe.
    pub(crate) async fn due(&self, timer: &Timer) -> Vec<Key> {
        loop {
            let due = self.take(timer.due());
            if !due.is_empty() {
                return due;
            }
            let first = self.lock().times.first().map(|(time, _)| *time);
            let Some(first) = first else {
                self.added.notified().await;
                continue;
            };
            let wait = (timer.until_timestamp(first) + timer.lateness()).min(CHECK);
            tokio::select! {
                biased;
                () = self.added.notified() => {}
                () = timer.until(timer.after(wait)) => {}
            }
        }
    }

    /// Whether one is left that was due by this time.
    pub(crate) fn has_due(&self, now: Timestamp) -> bool {
        let state = self.lock();
        let first = state.times.first();
        first.is_some_and(|(time, _)| *time <= now)
    }

    /// Takes those that are due by this time.
    pub(crate) fn take(&self, now: Timestamp) -> Vec<Key> {
        let mut state = self.lock();
        let mut due = Vec::new();
        while state.times.first().is_some_and(|(time, _)| *time <= now) {
            if let Some((_, key)) = state.times.pop_first() {
                state.keys.remove(&key);
                due.push(key);
            }
        }
        due
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::SignedDuration;
    use tokio::time::{Instant, timeout};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// One appointment in an hour, while the clock is set by `step` hours after half an hour; returns after how many
    /// minutes it is due.
    async fn minutes(step: i64) -> u64 {
        let (timer, all, start) = (Timer::for_tests(), Appointments::default(), Instant::now());
        all.add("a".into(), timer.timestamp() + HOUR);
        let early = timeout(HOUR / 2, all.due(&timer)).await;
        assert!(early.is_err());
        timer.set(SignedDuration::from_hours(step));
        let keys = all.due(&timer).await;
        assert_eq!(keys, ["a".into()]);
        start.elapsed().as_secs() / 60
    }

    #[tokio::test(start_paused = true)]
    async fn an_appointment_follows_the_clock_when_that_is_set() {
        assert_eq!(minutes(0).await, 60);
        assert_eq!(minutes(2).await, 30);
        assert_eq!(minutes(-2).await, 180);
    }

    #[tokio::test(start_paused = true)]
    async fn an_appointment_may_be_late_and_is_due_meanwhile() {
        let (timer, all, start) = (
            Timer::for_tests().late(HOUR),
            Appointments::default(),
            Instant::now(),
        );
        let time = timer.timestamp() + HOUR;
        all.add("a".into(), time);
        assert_eq!(all.due(&timer).await, ["a".into()]);
        assert_eq!(start.elapsed().as_secs(), 2 * 3600);
        all.add("b".into(), time);
        assert!(all.has_due(timer.timestamp()));
        assert!(!all.has_due(time - Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_times_counts_once() {
        let (timer, all) = (Timer::for_tests(), Appointments::default());
        let now = timer.timestamp();
        for hours in [2, 1, 3] {
            all.add("a".into(), now + hours * HOUR);
        }
        assert!(all.take(now + HOUR - Duration::from_secs(1)).is_empty());
        assert_eq!(all.take(now + HOUR), ["a".into()]);
        assert!(all.take(now + 4 * HOUR).is_empty());
    }
}
