//! The writes for one object, and the storms among them.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use super::report::{Event, Loop, Rival, Write};
use crate::key::Key;

/// More writes than this are a storm.
pub(super) const MOST: usize = 10;

/// The time within which they are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// The fields of a write are looked at from this one on: until then, it is not worth its time.
const SUSPICIOUS: usize = 3;

/// How long an object waits at first, after how many writes that doubles, and the longest time.
const FIRST: Duration = Duration::from_secs(1);
const DOUBLED_AFTER: u32 = 10;
const LONGEST: Duration = Duration::from_secs(60);

/// How often the other field manager of a fight is looked for.
const TRIES: u32 = 5;

/// To how many objects, and how many own versions, are remembered of each.
const TARGETS: usize = 128;
pub(super) const VERSIONS: usize = 256;

/// What is known of the writes for one object.
#[derive(Default)]
pub(super) struct Watched {
    pub(super) used: u64,
    /// The versions that own writes resulted in.
    pub(super) own: VecDeque<u64>,
    /// The versions of changes that may be of others: the watch may be faster than the answer to a write.
    pub(super) seen: Vec<u64>,
    /// Whether something new has happened since the last reconcile began. It may have been too late for that one.
    pub(super) is_new: bool,
    pub(super) targets: HashMap<Target, Writes>,
    /// Whether its storm was reported.
    is_reported: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) kind: Cow<'static, str>,
    pub(super) key: Key,
    /// Whether it is the status of the object that is reconciled.
    is_status: bool,
}

/// The writes to one target.
pub(super) struct Writes {
    /// A hash of what was sent last.
    sent: u64,
    /// The body that was sent last, once it is suspicious.
    body: Option<Value>,
    /// Whether nothing new has happened since the reconcile that sent it began.
    is_quiet: bool,
    /// Of the writes that count.
    times: VecDeque<Instant>,
    /// The fields that all of them changed, from [`SUSPICIOUS`] on.
    pub(super) fields: Option<BTreeSet<String>>,
    pub(super) storm: Option<Storm>,
}

/// A storm that goes on.
pub(super) struct Storm {
    steps: u32,
    pub(super) is_fight: bool,
    /// The other field manager of a fight, and how often it was looked for: it may have just been written over.
    pub(super) writer: Option<String>,
    pub(super) tries: u32,
}

impl Storm {
    /// Whether the other field manager is known, or will not be.
    pub(super) fn is_looked_for(&self) -> bool {
        self.writer.is_some() || self.tries >= TRIES
    }

    fn delay(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.steps / DOUBLED_AFTER);
        FIRST.saturating_mul(factor).min(LONGEST)
    }
}

impl Watched {
    /// Notices a write; returns the storm that it belongs to, and how long the object waits.
    pub(super) fn wrote(
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
                writes.changed(&fields(before.as_ref()));
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
    pub(super) fn resolve(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        if seen.iter().any(|seen| !self.own.contains(seen)) {
            self.news();
        }
    }

    /// Notices that something new has happened.
    pub(super) fn news(&mut self) {
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
    pub(super) fn is_of_storm(
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
    fn changed(&mut self, changed: &BTreeSet<String>) {
        let fields = match &self.fields {
            Some(before) => before.intersection(changed).cloned().collect(),
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
        let rival = match &storm.writer {
            _ if !storm.is_fight => Rival::None,
            None => Rival::Unknown,
            Some(writer) => Rival::Known(writer.clone()),
        };
        Some(Loop {
            kind: target.kind.clone(),
            object: Some(target.key.clone()),
            field,
            count: self.times.len(),
            within: now.saturating_duration_since(first),
            rival,
            is_new: false,
        })
    }
}
