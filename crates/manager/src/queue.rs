//! The work queue, designed like client-go's: only one worker at a time processes a key, and no key is lost.
//!
//! * A key that is added again before a worker takes it is in the queue once (*dirty*).
//! * A key that is added while a worker processes it (*processing*) returns when that worker is done; once, it does so
//!   ahead of others.
//! * A key that failed, or is requeued without a delay, returns after 5 ms, then 10 ms, doubled up to 1,000 s, or as the
//!   controller was registered. Each key backs off by itself.
//! * A key whose object changed goes before those that are only reconciled at start or periodically ([`Priority`]), but
//!   does not starve them ([`Lanes`]).
//! * A key waits while it is paced ([`set_pace`](Queue::set_pace)) or the storm guard slows it down. Meanwhile it is
//!   dirty, so nothing is lost.
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
use crate::{
    causes::{CauseKind, CauseKinds, Causes},
    key::Key,
    metrics::QueueMetrics,
    timer::Timer,
};

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
    due: HashMap<(Key, Why), Due>,
    /// How many of these are holds.
    holds: usize,
    /// The least time between two reconciles of a key.
    pace: Duration,
    failures: HashMap<Key, u32>,
    delays: Delays,
    /// The keys that have returned ahead of others.
    returned: HashSet<Key>,
}

/// What happens to a key later. Each reason has a delay of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Why {
    /// It is added, because it failed, or a reconcile asked for it.
    Asked,
    /// It is added, because a period has passed since its last reconcile.
    Resync,
    /// It need not wait any longer for its pace.
    Paced,
    /// It need not wait any longer for the storm guard.
    Slowed,
}

impl Why {
    /// Whether the key waits until then, if it is dirty.
    fn is_hold(self) -> bool {
        matches!(self, Self::Paced | Self::Slowed)
    }
}

/// When something happens to a key, and how it is added then.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    priority: Priority,
    kinds: CauseKinds,
}

/// Whether an event waits while its key is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Haste {
    /// It waits for the pace and for the storm guard.
    Waits,
    /// It waits for the pace only.
    PastGuard,
    /// It waits for neither.
    AtOnce,
}

#[derive(Debug)]
struct Dirty {
    since: Instant,
    place: Place,
    causes: Causes,
    priority: Priority,
    haste: Haste,
}

/// Where a dirty key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A worker processes it.
    Processing,
    /// It waits until it is released.
    Held,
    /// It has this place in its lane.
    Ready(i64),
}

#[derive(Debug)]
struct Processing {
    since: Instant,
    priority: Priority,
    causes: Causes,
}

/// While more keys than this are dirty, only the kinds of their causes are kept, and no names: a flood must not take
/// more memory than its keys.
const DETAILED: usize = 1000;

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
        self.add_with(key, Priority::Normal, &Causes::default(), Haste::Waits);
    }

    /// Adds a key. If it is in the queue with a lower priority, it is raised to this one.
    pub(crate) fn add_with(&self, key: Key, priority: Priority, causes: &Causes, haste: Haste) {
        self.add_to(&mut self.lock(), key, priority, causes, haste);
    }

    /// Adds the keys of all known objects, with low priority.
    pub(crate) fn add_all(&self, keys: Vec<Key>, causes: &Causes) {
        for key in keys {
            self.add_with(key, Priority::Low, causes, Haste::Waits);
        }
    }

    /// Sets the least time between the end of a reconcile of a key and the next one.
    pub(crate) fn set_pace(&self, pace: Duration) {
        self.lock().pace = pace;
    }

    /// Holds a key for a while, whatever adds it, unless that has [`Haste`].
    pub(crate) fn slow(&self, key: &Key, delay: Duration) {
        self.hold(&mut self.lock(), key, Why::Slowed, delay);
    }

    fn hold(&self, state: &mut State, key: &Key, why: Why, delay: Duration) {
        state.cancel(key, why);
        let due = Due {
            at: self.timer.after(delay),
            priority: Priority::Low,
            kinds: CauseKinds::default(),
        };
        self.delay(state, key.clone(), why, due);
    }

    /// Why a key is being processed.
    pub(crate) fn causes(&self, key: &Key) -> Causes {
        let state = self.lock();
        let processing = state.processing.get(key);
        processing.map(|it| it.causes.clone()).unwrap_or_default()
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
        self.retry(key, delay, CauseKind::Requeue);
    }

    fn retry(&self, key: Key, delay: Duration, kind: CauseKind) {
        self.metrics.retried();
        let processing = self.lock().processing.get(&key).map(|it| it.priority);
        self.add_within(key, delay, processing.unwrap_or(Priority::Normal), kind);
    }

    /// Adds a key at the latest after a delay: if it is already delayed, the earlier time and the higher priority count.
    fn add_within(&self, key: Key, delay: Duration, priority: Priority, kind: CauseKind) {
        if delay.is_zero() {
            return self.add_with(key, priority, &kind.into(), Haste::Waits);
        }
        let (mut state, kinds) = (self.lock(), kind.into());
        let at = self.timer.after(delay);
        let mut due = Due {
            at,
            priority,
            kinds,
        };
        if let Some(other) = state.cancel(&key, Why::Asked) {
            due.at = at.min(other.at);
            due.priority = priority.max(other.priority);
            due.kinds = kinds.and(other.kinds);
        }
        self.delay(&mut state, key, Why::Asked, due);
    }

    /// Adds a key with low priority once this period has passed, which begins anew with each call.
    pub(crate) fn resync(&self, key: Key, period: Duration) {
        let mut state = self.lock();
        state.cancel(&key, Why::Resync);
        let due = Due {
            at: self.timer.after(period),
            priority: Priority::Low,
            kinds: CauseKind::Resync.into(),
        };
        self.delay(&mut state, key, Why::Resync, due);
    }

    fn delay(&self, state: &mut State, key: Key, why: Why, due: Due) {
        state.holds += usize::from(why.is_hold());
        state.delayed.insert((due.at, key.clone(), why));
        state.due.insert((key, why), due);
        self.changed.notify_one();
    }

    /// Adds a key that failed. The delay doubles each time since the last [`forget`](Self::forget).
    pub fn add_rate_limited(&self, key: Key) -> Duration {
        self.back_off(key, CauseKind::Backoff)
    }

    /// Adds a key that is requeued without a delay, with the delays of one that failed.
    pub(crate) fn again(&self, key: Key) -> Duration {
        self.back_off(key, CauseKind::Requeue)
    }

    fn back_off(&self, key: Key, kind: CauseKind) -> Duration {
        let delay = {
            let mut state = self.lock();
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let failures = *failures;
            state.delays.after(failures)
        };
        self.retry(key, delay, kind);
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
        let pace = state.pace;
        if let Some(processing) = state.processing.remove(key) {
            self.metrics.done(processing.since);
            state.workers.end(key, self.timer.now());
            if !pace.is_zero() {
                self.hold(&mut state, key, Why::Paced, pace);
            }
            self.changed.notify_one();
        }
        let has_returned = state.returned.remove(key);
        let Some(haste) = state.dirty.get(key).map(|dirty| dirty.haste) else {
            return;
        };
        let is_held = state.holds(key, haste);
        let State {
            ready,
            dirty,
            returned,
            ..
        } = &mut *state;
        let Some(dirty) = dirty.get_mut(key) else {
            return;
        };
        dirty.place = if is_held {
            Place::Held
        } else if has_returned {
            Place::Ready(ready.push_back(dirty.priority, key.clone()))
        } else {
            returned.insert(key.clone());
            Place::Ready(ready.push_front(dirty.priority, key.clone()))
        };
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

    /// Whether no key is in progress or due. One that is held is not due yet.
    pub(crate) fn is_idle(&self) -> bool {
        let mut state = self.lock();
        self.promote(&mut state);
        let now = self.timer.now();
        let is_late = state.delayed.first().is_some_and(|(at, ..)| *at <= now);
        let mut dirty = state.dirty.values();
        !is_late && state.processing.is_empty() && dirty.all(|it| it.place == Place::Held)
    }

    fn add_to(
        &self,
        state: &mut State,
        key: Key,
        priority: Priority,
        causes: &Causes,
        haste: Haste,
    ) {
        if !state.open {
            return;
        }
        let named = state.dirty.len() < DETAILED;
        let waits = state.processing.contains_key(&key);
        let dirty = state.dirty.entry(key.clone()).or_insert_with(|| {
            self.metrics.added();
            Dirty {
                since: Instant::now(),
                // It has no place yet, as if it had just been released.
                place: if waits {
                    Place::Processing
                } else {
                    Place::Held
                },
                causes: Causes::default(),
                priority,
                haste,
            }
        });
        if named {
            dirty.causes.merge(causes);
        } else {
            dirty.causes.merge(&causes.without_details());
        }
        let before = dirty.priority;
        dirty.priority = priority.max(before);
        dirty.haste = haste.max(dirty.haste);
        match dirty.place {
            Place::Processing => {}
            Place::Held => Self::release(state, &key),
            Place::Ready(_) if priority <= before => return,
            Place::Ready(place) => {
                state.ready.remove(before, &key, place);
                dirty.place = Place::Ready(state.ready.push_back(priority, key));
            }
        }
        self.ready_changed(state);
    }

    /// Makes a dirty key ready, unless it must wait.
    fn release(state: &mut State, key: &Key) {
        let Some(haste) = state.dirty.get(key).map(|dirty| dirty.haste) else {
            return;
        };
        if state.holds(key, haste) {
            return;
        }
        if let Some(dirty) = state.dirty.get_mut(key)
            && dirty.place == Place::Held
        {
            // The time that it was held is not one that it waited for a worker.
            dirty.since = Instant::now();
            dirty.place = Place::Ready(state.ready.push_back(dirty.priority, key.clone()));
        }
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
            causes: dirty.causes,
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

    /// Adds the keys whose delay has expired, and releases those that are not held any longer.
    fn promote(&self, state: &mut State) {
        let (now, late) = (self.timer.now(), self.timer.lateness());
        let is_due = |at: Instant| at + late <= now;
        while state.delayed.first().is_some_and(|(at, ..)| is_due(*at)) {
            let Some((_, key, why)) = state.delayed.pop_first() else {
                return;
            };
            let Some(due) = state.due.remove(&(key.clone(), why)) else {
                continue;
            };
            if why.is_hold() {
                state.holds -= 1;
                Self::release(state, &key);
                self.ready_changed(state);
                continue;
            }
            let causes = match state.failures.get(&key) {
                Some(failures) if due.kinds.has(CauseKind::Backoff) => Causes::backoff(*failures),
                _ => due.kinds.into(),
            };
            self.add_to(state, key, due.priority, &causes, Haste::Waits);
        }
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends a delay of a key; returns when it would have been added, and how.
    fn cancel(&mut self, key: &Key, why: Why) -> Option<Due> {
        let due = self.due.remove(&(key.clone(), why))?;
        self.holds -= usize::from(why.is_hold());
        self.delayed.remove(&(due.at, key.clone(), why));
        Some(due)
    }

    /// Whether a key must wait that was added with this haste.
    fn holds(&self, key: &Key, haste: Haste) -> bool {
        let has = |why| self.due.contains_key(&(key.clone(), why));
        self.holds > 0
            && (haste < Haste::AtOnce && has(Why::Paced)
                || haste < Haste::PastGuard && has(Why::Slowed))
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
