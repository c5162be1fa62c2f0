//! The storm guard: it recognizes an object whose reconciles only follow their own writes, or fight with another field
//! manager, and slows it down.
//!
//! A write counts if it follows from nothing new:
//!
//! * It sends another value than the last write to the same object, although nothing has happened since but the own
//!   writes: a time, a random value, a counter of reconciles.
//! * It sends the same value again, and that has an effect: another field manager has changed it back.
//!
//! If more than ten such writes change the same field within a minute, the object is slowed down to one write a
//! second, and then less. What is new resets nothing; a write that may follow from it just does not count. So a miss is
//! likelier than a false alarm. New are the changes of others, to whatever enqueues the object; triggers, resyncs,
//! failures, and requeues after a second or more; and own writes to an object that was not written lately, or a deletion,
//! because those are progress: an operator may create 200 children, and count them in its status.
//!
//! While it is slowed down, events about anything else enqueue the object at once.

pub(crate) mod fields;
mod report;
mod watched;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;

pub(crate) use self::report::{Event, Loop, Rival, Write};
use self::watched::{VERSIONS, Watched};
use crate::{
    causes::{CauseKind, Causes},
    key::Key,
    queue::{Haste, Queue},
    timer::Timer,
};

/// A requeue after this time or more is a plan, and not a storm.
pub(crate) const PLANNED: Duration = Duration::from_secs(1);

/// How many objects are watched: those that were written last. A storm writes often, so it is among them.
const WATCHED: usize = 256;

/// What a guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    /// It remembers storms, and slows nothing down: a simulation must see that it never ends.
    Report,
    Slow,
}

/// The storm guard of a controller.
pub(crate) struct Guard {
    mode: Mode,
    /// The kind that is reconciled.
    pub(crate) kind: Cow<'static, str>,
    pub(crate) queue: Arc<Queue>,
    timer: Timer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the keys of the objects that are reconciled.
    watched: HashMap<Key, Watched>,
    /// Counts the uses of `watched`.
    tick: u64,
    /// The storms, in the mode `Report`.
    reports: Vec<String>,
}

/// A hash of what is sent.
pub(crate) fn hash(sent: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    sent.hash(&mut hasher);
    hasher.finish()
}

impl Guard {
    pub(crate) fn new(
        mode: Mode,
        kind: Cow<'static, str>,
        queue: Arc<Queue>,
        timer: Timer,
    ) -> Self {
        Self {
            mode,
            kind,
            queue,
            timer,
            state: Mutex::default(),
        }
    }

    /// Notices why a reconcile begins.
    pub(crate) fn begins(&self, key: &Key, causes: &Causes) {
        let is_new = |kind: CauseKind| match kind {
            // Changes are told apart by their versions.
            CauseKind::Own | CauseKind::Child | CauseKind::Watched | CauseKind::Requeue => false,
            CauseKind::Start
            | CauseKind::Installed
            | CauseKind::Backoff
            | CauseKind::Resync
            | CauseKind::Trigger
            | CauseKind::Poke => true,
        };
        let mut any = false;
        causes.count(|kind| any |= is_new(kind));
        let mut state = self.lock();
        if let Some(watched) = state.watched.get_mut(key) {
            watched.resolve();
            if any {
                watched.news();
            }
            watched.is_new = false;
        }
    }

    /// Notices that something new has happened.
    pub(crate) fn progress(&self, key: &Key) {
        if let Some(watched) = self.lock().watched.get_mut(key) {
            watched.news();
        }
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().watched.remove(key);
    }

    /// Notices a change that enqueues the object with this key, and returns whether that waits while it is slowed down.
    /// `fields` are those that have changed, if that can be known.
    pub(crate) fn seen(
        &self,
        key: &Key,
        event: &Event<'_>,
        fields: impl FnOnce() -> Option<BTreeSet<String>>,
    ) -> Haste {
        let mut state = self.lock();
        let Some(watched) = state.watched.get_mut(key) else {
            return Haste::PastGuard;
        };
        let version = event.version.and_then(|version| version.parse().ok());
        if version.is_some_and(|version| watched.own.contains(&version)) {
            return Haste::Waits;
        }
        let is_of_storm = !event.changed.is_deletion() && watched.is_of_storm(event, fields);
        match version {
            _ if is_of_storm => return Haste::Waits,
            Some(version) if watched.seen.len() < VERSIONS => watched.seen.push(version),
            _ => watched.news(),
        }
        Haste::PastGuard
    }

    /// Notices a write of a reconcile of the object with this key. `fields` are those that it has changed; it gets the body
    /// that was sent before. Returns the storm that it belongs to.
    pub(crate) fn wrote(
        &self,
        key: &Key,
        write: &Write<'_>,
        fields: impl FnOnce(Option<&Value>) -> BTreeSet<String>,
    ) -> Option<Loop> {
        if self.mode == Mode::Off || write.from == Some(write.to) {
            return None;
        }
        let now = self.timer.now();
        let mut state = self.lock();
        let (mut found, delay) = state.watched(key).wrote(write, fields, now)?;
        if *key == *write.key && self.kind == write.kind {
            found.object = None;
        }
        if self.mode == Mode::Slow {
            drop(state);
            self.queue.slow(key, delay);
        } else if found.is_new {
            state.reports.push(found.to_string());
        }
        Some(found)
    }

    /// The field of an object in a fight, whose other field manager is to be looked for.
    pub(crate) fn asks_for_writer(&self, key: &Key, kind: &str, object: &Key) -> Option<String> {
        let mut state = self.lock();
        let watched = state.watched.get_mut(key)?;
        let mut targets = watched.targets.iter_mut();
        let (_, writes) = targets.find(|(target, writes)| {
            target.kind == kind
                && target.key == *object
                && writes
                    .storm
                    .as_ref()
                    .is_some_and(|it| it.is_fight && !it.is_looked_for())
        })?;
        writes.storm.as_mut()?.tries += 1;
        writes.fields.as_ref()?.first().cloned()
    }

    /// Notices who the other field manager of a fight is.
    pub(crate) fn found_writer(&self, key: &Key, kind: &str, object: &Key, writer: &str) {
        let mut state = self.lock();
        let Some(watched) = state.watched.get_mut(key) else {
            return;
        };
        for (target, writes) in &mut watched.targets {
            if let Some(storm) = &mut writes.storm
                && target.kind == kind
                && target.key == *object
            {
                storm.writer = Some(writer.to_owned());
            }
        }
    }

    /// The storms, in the mode `Report`.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.lock().reports.clone()
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The object with this key, instead of those that were written least lately.
    fn watched(&mut self, key: &Key) -> &mut Watched {
        self.tick += 1;
        let tick = self.tick;
        if self.watched.len() >= WATCHED && !self.watched.contains_key(key) {
            let mut uses: Vec<_> = self.watched.values().map(|it| it.used).collect();
            let (_, median, _) = uses.select_nth_unstable(WATCHED / 2);
            let median = *median;
            self.watched.retain(|_, it| it.used > median);
        }
        let watched = self.watched.entry(key.clone()).or_default();
        watched.used = tick;
        watched
    }
}

#[cfg(test)]
mod tests;
