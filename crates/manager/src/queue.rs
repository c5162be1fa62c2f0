//! The work queue, designed like client-go's: only one worker at a time processes a key, and no key is lost.
//!
//! * A key that is added again before a worker takes it is in the queue once (*dirty*).
//! * A key that is added while a worker processes it (*processing*) returns when that worker is done; once, it does so
//!   ahead of others.
//! * A key that failed, or is requeued without a delay, returns after 5 ms, then 10 ms, doubled up to 1,000 s, or as the
//!   controller was registered. Each key backs off by itself.
//! * A key whose object changed goes before those that are only reconciled at start or periodically ([`Priority`]), but
//!   does not starve them ([`Lanes`]).
//! * The namespaces take turns ([`Lane`](lane::Lane)), and one that holds all workers for long does not stop the others
//!   ([`Workers`]).
//!
//! A [`Manager`](crate::Manager) has one for each controller. A program of its own uses it alone, with one caller of
//! [`next`](Queue::next) and as many workers as it likes:
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use manager::{Key, queue::Queue};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let queue = Arc::new(Queue::default());
//! queue.set_backoff(Duration::from_millis(1), Duration::from_secs(60));
//! for name in ["hook", "sparrow", "hook"] {
//!     queue.add(Key::from(name));
//! }
//! let mut failed = false;
//! let mut processed = Vec::new();
//! while processed.len() < 3 {
//!     let key = queue.next().await;
//!     processed.push(key.to_string());
//!     if key.name() == "hook" && !std::mem::replace(&mut failed, true) {
//!         queue.add_rate_limited(key.clone()); // it failed
//!     } else {
//!         queue.forget(&key); // it succeeded
//!     }
//!     queue.done(&key);
//! }
//! // Added twice, it is processed once, and again when it has failed.
//! assert_eq!(processed, ["hook", "sparrow", "hook"]);
//! # }
//! ```
//!
//! Source: `k8s.io/client-go/util/workqueue`, `queue.go`, `delaying_queue.go`, `default_rate_limiters.go`.

pub(crate) mod appointments;
mod delays;
mod lane;
mod lanes;
mod workers;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

pub(crate) use self::lanes::Priority;
use self::{
    delays::Delays,
    lanes::Lanes,
    workers::{Admits, Workers},
};
use crate::{key::Key, metrics::QueueMetrics, timer::Timer};

/// The keys that are yet to be processed.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
    timer: Timer,
}

#[derive(Debug, Default)]
struct State {
    /// Whether this process leads. Otherwise the queue takes no keys, because no worker would ever take them.
    open: bool,
    ready: Lanes,
    /// The keys to process.
    dirty: HashMap<Key, Dirty>,
    processing: HashMap<Key, Processing>,
    workers: Workers,
    /// The keys to add later, in the time of the timer; `due` is the reverse map.
    delayed: BTreeSet<(Instant, Key, Why)>,
    due: HashMap<(Key, Why), (Instant, Priority)>,
    failures: HashMap<Key, u32>,
    delays: Delays,
    /// The keys that have returned ahead of others.
    returned: HashSet<Key>,
}

/// Why a key is added later. Each reason has a delay of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Why {
    /// It failed, or a reconcile asked for it.
    Asked,
    /// A period has passed since its last reconcile.
    Resync,
}

#[derive(Debug)]
struct Dirty {
    since: Instant,
    priority: Priority,
    /// Its place in its lane; `None` while a worker processes the key.
    place: Option<i64>,
}

#[derive(Debug)]
struct Processing {
    since: Instant,
    priority: Priority,
}

impl Default for Queue {
    /// An empty queue, with one worker and without metrics.
    fn default() -> Self {
        let queue = Self::new(QueueMetrics::default(), Timer::default());
        queue.open();
        queue
    }
}

impl Queue {
    /// A queue that takes no keys before it is [opened](Self::open).
    pub(crate) fn new(metrics: QueueMetrics, timer: Timer) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            metrics,
            timer,
        }
    }

    /// Takes keys from now on. Follow it with [`add_all`](Self::add_all).
    pub(crate) fn open(&self) {
        self.lock().open = true;
    }

    /// Adds a key, which is processed as soon as a worker is free.
    pub fn add(&self, key: Key) {
        self.add_with(key, Priority::Normal);
    }

    /// Adds a key. If it is in the queue with a lower priority, it is raised to this one.
    pub(crate) fn add_with(&self, key: Key, priority: Priority) {
        self.add_to(&mut self.lock(), key, priority);
    }

    /// Adds the keys of all known objects, with low priority.
    pub(crate) fn add_all(&self, keys: Vec<Key>) {
        for key in keys {
            self.add_with(key, Priority::Low);
        }
    }

    /// Sets how many keys are processed at a time. If there are several, and one namespace holds all for long, it is one
    /// more.
    pub fn set_workers(&self, most: usize) {
        self.lock().workers.set_most(most);
    }

    /// Sets the delays of keys that fail.
    pub fn set_backoff(&self, first: Duration, longest: Duration) {
        self.lock().delays = Delays { first, longest };
    }

    /// Adds a key after a delay, and counts it as a retry; if it is already delayed, the earlier time counts. A key
    /// that is being processed keeps its priority.
    pub fn add_after(&self, key: Key, delay: Duration) {
        self.metrics.retried();
        let processing = self.lock().processing.get(&key).map(|it| it.priority);
        self.add_within(key, delay, processing.unwrap_or(Priority::Normal));
    }

    /// Adds a key at the latest after a delay: if it is already delayed, the earlier time and the higher priority count.
    fn add_within(&self, key: Key, delay: Duration, mut priority: Priority) {
        if delay.is_zero() {
            return self.add_with(key, priority);
        }
        let (mut at, mut state) = (self.timer.after(delay), self.lock());
        if let Some((earlier, other)) = state.cancel(&key, Why::Asked) {
            (at, priority) = (at.min(earlier), priority.max(other));
        }
        self.delay(&mut state, key, Why::Asked, at, priority);
    }

    /// Adds a key with low priority once this period has passed, which begins anew with each call.
    pub(crate) fn resync(&self, key: Key, period: Duration) {
        let (at, mut state) = (self.timer.after(period), self.lock());
        state.cancel(&key, Why::Resync);
        self.delay(&mut state, key, Why::Resync, at, Priority::Low);
    }

    fn delay(&self, state: &mut State, key: Key, why: Why, at: Instant, priority: Priority) {
        state.delayed.insert((at, key.clone(), why));
        state.due.insert((key, why), (at, priority));
        self.changed.notify_one();
    }

    /// Adds a key that failed, or is requeued without a delay. The delay doubles each time since the last
    /// [`forget`](Self::forget).
    pub fn add_rate_limited(&self, key: Key) -> Duration {
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

    /// Whether a key backs off.
    pub(crate) fn has_failed(&self, key: &Key) -> bool {
        self.lock().failures.contains_key(key)
    }

    /// Resets the back-off of a key.
    pub fn forget(&self, key: &Key) {
        self.lock().failures.remove(key);
    }

    /// Waits for a key to process, and for a worker; [`done`](Self::done) must follow. It is cancel safe.
    ///
    /// Only one caller at a time is allowed.
    pub async fn next(&self) -> Key {
        loop {
            let wake_at = {
                let mut state = self.lock();
                self.promote(&mut state);
                if let Some(key) = self.take(&mut state) {
                    return key;
                }
                let late = self.timer.lateness();
                let delayed = state.delayed.first().map(|(at, ..)| *at + late);
                delayed.into_iter().chain(state.admits_others_at()).min()
            };
            match wake_at {
                Some(at) => tokio::select! {
                    biased;
                    () = self.changed.notified() => {}
                    () = self.timer.until(at) => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    /// Ends the processing of a key. If the key was added meanwhile, it is next among those of its priority.
    ///
    /// It goes ahead of others because what its last reconcile applied is still at hand. That happens only once in a
    /// row, so a key that changes all the time does not starve the others.
    pub fn done(&self, key: &Key) {
        let mut state = self.lock();
        let State {
            ready,
            dirty,
            processing,
            returned,
            workers,
            ..
        } = &mut *state;
        if let Some(processing) = processing.remove(key) {
            self.metrics.done(processing.since);
            workers.end(key, self.timer.now());
            self.changed.notify_one();
        }
        let has_returned = returned.remove(key);
        let Some(dirty) = dirty.get_mut(key) else {
            return;
        };
        let place = if has_returned {
            ready.push_back(dirty.priority, key.clone())
        } else {
            returned.insert(key.clone());
            ready.push_front(dirty.priority, key.clone())
        };
        dirty.place = Some(place);
        self.ready_changed(&state);
    }

    /// The keys in progress.
    pub(crate) fn processing(&self) -> Vec<Key> {
        self.lock().processing.keys().cloned().collect()
    }

    /// The keys that back off, sorted.
    pub(crate) fn failing(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.lock().failures.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// Whether no key is in progress or due.
    pub(crate) fn is_idle(&self) -> bool {
        let mut state = self.lock();
        self.promote(&mut state);
        let now = self.timer.now();
        let is_late = state.delayed.first().is_some_and(|(at, ..)| *at <= now);
        !is_late && state.dirty.is_empty() && state.processing.is_empty()
    }

    fn add_to(&self, state: &mut State, key: Key, priority: Priority) {
        if !state.open {
            return;
        }
        let ready = &mut state.ready;
        if let Some(dirty) = state.dirty.get_mut(&key) {
            if dirty.priority >= priority {
                return;
            }
            if let Some(place) = dirty.place {
                ready.remove(dirty.priority, &key, place);
                dirty.place = Some(ready.push_back(priority, key));
            }
            dirty.priority = priority;
        } else {
            let waits = !state.processing.contains_key(&key);
            let dirty = Dirty {
                since: Instant::now(),
                priority,
                place: waits.then(|| ready.push_back(priority, key.clone())),
            };
            state.dirty.insert(key, dirty);
            self.metrics.added();
        }
        self.ready_changed(state);
    }

    /// Takes the next key that is ready.
    fn take(&self, state: &mut State) -> Option<Key> {
        let State { ready, workers, .. } = &mut *state;
        let now = self.timer.now();
        let key = match workers.admit() {
            Admits::All => ready.pop(None)?,
            Admits::Others(full, at) if at <= now => ready.pop(Some(full))?,
            Admits::Others(..) | Admits::None => return None,
        };
        // A key that is ready is dirty.
        let dirty = state.dirty.remove(&key)?;
        let processing = Processing {
            since: self.metrics.taken(dirty.since),
            priority: dirty.priority,
        };
        state.processing.insert(key.clone(), processing);
        state.workers.begin(&key, now);
        self.show_depth(state);
        Some(key)
    }

    fn ready_changed(&self, state: &State) {
        self.show_depth(state);
        self.changed.notify_one();
    }

    fn show_depth(&self, state: &State) {
        let depth = |priority| state.ready.len(priority);
        self.metrics
            .depth(depth(Priority::Normal), depth(Priority::Low));
    }

    /// Adds the keys whose delay has expired.
    fn promote(&self, state: &mut State) {
        let (now, late) = (self.timer.now(), self.timer.lateness());
        let is_due = |at: Instant| at + late <= now;
        while state.delayed.first().is_some_and(|(at, ..)| is_due(*at)) {
            if let Some((_, key, why)) = state.delayed.pop_first()
                && let Some((_, priority)) = state.due.remove(&(key.clone(), why))
            {
                self.add_to(state, key, priority);
            }
        }
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends a delay of a key; returns when it would have been added, and how.
    fn cancel(&mut self, key: &Key, why: Why) -> Option<(Instant, Priority)> {
        let due = self.due.remove(&(key.clone(), why))?;
        self.delayed.remove(&(due.0, key.clone(), why));
        Some(due)
    }

    /// When a key can be taken that waits because another namespace holds all workers.
    fn admits_others_at(&self) -> Option<Instant> {
        match self.workers.admit() {
            Admits::Others(full, at) => self.ready.has_others(full).then_some(at),
            Admits::All | Admits::None => None,
        }
    }
}

#[cfg(test)]
mod tests;
