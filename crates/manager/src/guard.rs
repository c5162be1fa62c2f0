//! The storm guard: it recognizes an object whose reconciles only follow their own writes, or fight with another field
//! manager, and slows it down.
//!
//! A write counts if it follows from nothing new:
//!
//! * It sends another value than the last write to the same object, although nothing has happened since but the own
//!   writes: a time, a random value, a counter of reconciles.
//! * It sends the same value again, and that has an effect: another field manager has changed it back.
//!
//! If more than [`MOST`] such writes change the same field within [`WINDOW`], the object is slowed down to one write a
//! second, and then less. What is new resets nothing; a write that may follow from it just does not count. So a miss is
//! likelier than a false alarm. New are the changes of others, to whatever enqueues the object; triggers, resyncs,
//! failures, and requeues after a second or more; and own writes to an object that was not written lately, or a deletion,
//! because those are progress: an operator may create 200 children, and count them in its status.
//!
//! While it is slowed down, events about anything else enqueue the object at once.

pub(crate) mod fields;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, VecDeque},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    cache::{
        object::{Cached, version},
        store::Change,
    },
    key::Key,
    queue::{
        Haste, Queue,
        causes::{CauseKind, Causes, Changed},
    },
    timer::Timer,
};

/// More writes than this are a storm.
const MOST: usize = 10;

/// The time within which they are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The fields of a write are looked at from this one on: until then, it is not worth its time.
const SUSPICIOUS: usize = 3;

/// How long an object waits at first, after how many writes that doubles, and the longest time.
const FIRST: Duration = Duration::from_secs(1);
const DOUBLED_AFTER: u32 = 10;
const LONGEST: Duration = Duration::from_secs(60);

/// How often the other field manager of a fight is looked for.
const TRIES: u32 = 5;

/// A requeue after this time or more is a plan, and not a storm.
pub(crate) const PLANNED: Duration = Duration::from_secs(1);

/// How many objects are watched: those that were written last. A storm writes often, so it is among them.
const WATCHED: usize = 256;

/// To how many objects, and how many own versions, are remembered of each.
const TARGETS: usize = 128;
const VERSIONS: usize = 256;

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

/// What is known of the writes for one object.
#[derive(Default)]
struct Watched {
    used: u64,
    /// The versions that own writes resulted in.
    own: VecDeque<u64>,
    /// The versions of changes that may be of others: the watch may be faster than the answer to a write.
    seen: Vec<u64>,
    /// Whether something new has happened since the last reconcile began. It may have been too late for that one.
    is_new: bool,
    targets: HashMap<Target, Writes>,
    /// Whether its storm was reported.
    is_reported: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Target {
    kind: Cow<'static, str>,
    key: Key,
    /// Whether it is the status of the object that is reconciled.
    is_status: bool,
}

/// The writes to one target.
struct Writes {
    /// A hash of what was sent last.
    sent: u64,
    /// The body that was sent last, once it is suspicious.
    body: Option<Value>,
    /// Whether nothing new has happened since the reconcile that sent it began.
    is_quiet: bool,
    /// Of the writes that count.
    times: VecDeque<Instant>,
    /// The fields that all of them changed, from [`SUSPICIOUS`] on.
    fields: Option<BTreeSet<String>>,
    storm: Option<Storm>,
}

/// A storm that goes on.
struct Storm {
    steps: u32,
    is_fight: bool,
    /// The other field manager of a fight, and how often it was looked for: it may have just been written over.
    writer: Option<String>,
    tries: u32,
}

impl Storm {
    /// Whether the other field manager is known, or will not be.
    fn is_looked_for(&self) -> bool {
        self.writer.is_some() || self.tries >= TRIES
    }

    fn delay(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.steps / DOUBLED_AFTER);
        FIRST.saturating_mul(factor).min(LONGEST)
    }
}

/// A write that has changed something.
pub(crate) struct Write<'a> {
    pub(crate) kind: Cow<'static, str>,
    pub(crate) key: &'a Key,
    pub(crate) is_status: bool,
    /// The version that was written, as far as it is known, and the one that resulted.
    pub(crate) from: Option<&'a str>,
    pub(crate) to: &'a str,
    pub(crate) sent: u64,
    /// What was sent, if only that tells which fields have changed.
    pub(crate) body: Option<&'a Value>,
}

/// A change of an object, which enqueues the one that is reconciled.
pub(crate) struct Event<'a> {
    pub(crate) kind: &'a str,
    pub(crate) key: &'a Key,
    /// `None` if the object is gone.
    pub(crate) version: Option<&'a str>,
    pub(crate) changed: Changed,
}

impl<'a> Event<'a> {
    pub(crate) fn of<M: Cached>(kind: &'a str, change: &Change<'a, M>, changed: Changed) -> Self {
        Self {
            kind,
            key: change.key,
            version: change.new.map(version),
            changed,
        }
    }
}

/// A write of a storm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) kind: Cow<'static, str>,
    /// The key of what is written, unless it is the object that is reconciled.
    object: Option<Key>,
    pub(crate) field: String,
    count: usize,
    within: Duration,
    /// The other field manager, if it is a fight; `None` in it if that is not known.
    pub(crate) writer: Option<Option<String>>,
    /// Whether it is to be reported.
    pub(crate) is_new: bool,
}

impl fmt::Display for Loop {
    /// Says what is written again and again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.field)?;
        if let Some(key) = &self.object {
            write!(f, " of {} `{key}`", self.kind)?;
        }
        let seconds = self.within.as_secs() + 1;
        write!(f, " was written {} times within {seconds} s", self.count)?;
        match &self.writer {
            None => f.write_str(", and nothing but these writes has changed"),
            Some(None) => f.write_str(", each time after another writer had changed it"),
            Some(Some(writer)) => write!(f, ", each time after `{writer}` had changed it"),
        }
    }
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

impl Watched {
    /// Notices a write; returns the storm that it belongs to, and how long the object waits.
    fn wrote(
        &mut self,
        write: &Write<'_>,
        fields: impl FnOnce(Option<&Value>) -> BTreeSet<String>,
        now: Instant,
    ) -> Option<(Loop, Duration)> {
        self.answered(write.to);
        self.resolve();
        let is_new = self.is_new;
        let target = Target {
            kind: write.kind.clone(),
            key: write.key.clone(),
            is_status: write.is_status,
        };
        let writes = self.written(&target, write)?;
        let is_fight = writes.sent == write.sent;
        let counts = if is_fight {
            // Without an effect, it is no write at all.
            write.from.is_some()
        } else {
            writes.is_quiet
        };
        writes.sent = write.sent;
        writes.is_quiet = !is_new;
        if !counts {
            return None;
        }
        writes.expire(now);
        writes.times.push_back(now);
        if writes.times.len() >= SUSPICIOUS {
            let before = std::mem::replace(&mut writes.body, write.body.cloned());
            if write.body.is_none() || before.is_some() {
                writes.changed(fields(before.as_ref()));
            }
        }
        let mut found = writes.storm(is_fight, &target, now)?;
        let storm = writes.storm.as_ref()?;
        let (delay, begins) = (storm.delay(), storm.steps == 1);
        let is_known = !storm.is_fight || storm.is_looked_for();
        if begins && self.storms() == 1 {
            self.is_reported = false;
        }
        if is_known {
            found.is_new = !std::mem::replace(&mut self.is_reported, true);
        }
        Some((found, delay))
    }

    fn storms(&self) -> usize {
        let targets = self.targets.values();
        targets.filter(|it| it.storm.is_some()).count()
    }

    /// Notices the version that an own write resulted in.
    fn answered(&mut self, version: &str) {
        if let Ok(version) = version.parse() {
            if self.own.len() >= VERSIONS {
                self.own.pop_front();
            }
            self.own.push_back(version);
        }
    }

    /// Finds out whether changes that were seen are those of others.
    fn resolve(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        if seen.iter().any(|seen| !self.own.contains(seen)) {
            self.news();
        }
    }

    /// Notices that something new has happened.
    fn news(&mut self) {
        self.is_new = true;
        self.targets.values_mut().for_each(|it| it.is_quiet = false);
    }

    /// The writes to a target before this one; `None` if this is the first, which is progress.
    fn written(&mut self, target: &Target, write: &Write<'_>) -> Option<&mut Writes> {
        if !self.targets.contains_key(target) {
            self.news();
            if self.targets.len() < TARGETS {
                self.targets.insert(target.clone(), Writes::first(write));
            }
            return None;
        }
        self.targets.get_mut(target)
    }

    /// Whether a change is of the field that a storm writes, or, of an object whose spec it writes, of the status, which
    /// follows from that.
    fn is_of_storm(
        &self,
        event: &Event<'_>,
        fields: impl FnOnce() -> Option<BTreeSet<String>>,
    ) -> bool {
        let mut targets = self.targets.iter();
        let found = targets.find(|(target, writes)| {
            writes.storm.is_some() && target.kind == event.kind && target.key == *event.key
        });
        let Some((target, writes)) = found else {
            return false;
        };
        if event.changed.is_status() && !target.is_status {
            return true;
        }
        match (fields(), &writes.fields) {
            (Some(changed), Some(own)) => changed.is_subset(own),
            _ => true,
        }
    }
}

impl Writes {
    fn first(write: &Write<'_>) -> Self {
        Self {
            sent: write.sent,
            body: None,
            is_quiet: true,
            times: VecDeque::new(),
            fields: None,
            storm: None,
        }
    }

    /// Forgets what was too long ago.
    fn expire(&mut self, now: Instant) {
        let delay = self.storm.as_ref().map(Storm::delay).unwrap_or_default();
        let is_over = |at: &Instant| now.saturating_duration_since(*at) > WINDOW + 2 * delay;
        if self.times.back().is_some_and(is_over) {
            self.start_again();
        }
        while self.storm.is_none()
            && self
                .times
                .front()
                .is_some_and(|at| now.saturating_duration_since(*at) > WINDOW)
        {
            self.times.pop_front();
        }
        // A storm that goes on needs no more of them.
        while self.times.len() > MOST {
            self.times.pop_front();
        }
    }

    fn start_again(&mut self) {
        self.times.clear();
        self.fields = None;
        self.storm = None;
        self.body = None;
    }

    /// Notices the fields that a write has changed.
    fn changed(&mut self, changed: BTreeSet<String>) {
        let fields = match &self.fields {
            Some(before) => before.intersection(&changed).cloned().collect(),
            None => changed.clone(),
        };
        if fields.is_empty() {
            // It is another field by now.
            self.start_again();
        } else {
            self.fields = Some(fields);
        }
    }

    /// The storm that a write at this time belongs to.
    fn storm(&mut self, is_fight: bool, target: &Target, now: Instant) -> Option<Loop> {
        if self.times.len() <= MOST {
            return None;
        }
        let first = *self.times.front()?;
        let field = self.fields.as_ref()?.first()?.clone();
        let storm = self.storm.get_or_insert(Storm {
            steps: 0,
            is_fight,
            writer: None,
            tries: 0,
        });
        storm.steps = storm.steps.saturating_add(1);
        let writer = storm.is_fight.then(|| storm.writer.clone());
        Some(Loop {
            kind: target.kind.clone(),
            object: Some(target.key.clone()),
            field,
            count: self.times.len(),
            within: now.saturating_duration_since(first),
            writer,
            is_new: false,
        })
    }
}

#[cfg(test)]
mod tests;
