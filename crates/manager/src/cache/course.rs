//! How far a watch has come, how it fails, and when the objects must be listed again.
//!
//! A watch may fail, or deliver nothing, in more ways than can be told apart: it is not permitted, a proxy ends it or
//! holds it back, the API server lags. As long as lists work, the cache must not depend on it. So the objects are listed
//! again once watches have failed a few times in a row, as in client-go's reflector, and each time after that: the cache
//! polls. They are also listed again if nothing was heard for a while, or nothing but bookmarks for a long while: those
//! only claim that no change is missing.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    backoff::{Backoff, jittered},
    cache::{
        initial::Position,
        object::{later, number},
    },
};

/// After how many failures in a row the objects are listed again.
const FEW: u32 = 3;

/// How long nothing may be heard. A watch whose connection is dead is replaced after 85 s, and the first bookmark of the
/// next one comes after 60 s more.
const SILENCE: Duration = Duration::from_secs(150);

/// How long nothing but bookmarks may be heard; at least half of it.
const UNCHANGED: Duration = Duration::from_secs(30 * 60);

/// How long a watch that has failed must run to count as recovered, if nothing changes.
const GOOD: Duration = Duration::from_secs(60);

/// Whether changes may be missing that were made before this process began to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    Raised,
    /// Until the watch has reached this version.
    Until(u128),
}

/// What a follower knows of its watch.
pub(super) struct Course<K> {
    /// `None` if the objects must be listed.
    pub(super) position: Option<Position<K>>,
    pub(super) doubt: Doubt,
    /// Whether the last list failed: in a stream and in pages.
    pub(super) is_unlisted: bool,
    /// Whether anything has failed since the watch last worked.
    pub(super) failing: bool,
    /// How many watches have failed since one worked.
    failures: u32,
    backoff: Backoff,
    /// When a list, an event or a bookmark last arrived.
    heard: Instant,
    /// When the objects are listed again unless one of them changes.
    unchanged_until: Instant,
}

impl<K> Course<K> {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            position: None,
            doubt: Doubt::None,
            is_unlisted: false,
            failing: false,
            failures: 0,
            backoff: Backoff::new(),
            heard: now,
            unchanged_until: now,
        }
    }

    /// Goes on from where it is with a new watch, which must prove that nothing is missing.
    pub(super) fn doubt(&mut self) {
        self.doubt = Doubt::Raised;
        self.failures = 0;
        self.backoff = Backoff::new();
        if let Some(at) = &mut self.position {
            at.watch = None;
        }
    }

    /// Notices a list of all objects. Returns whether that ends the failures: not if it was the watch that failed.
    pub(super) fn listed(&mut self, position: Position<K>) -> bool {
        self.position = Some(position);
        self.is_unlisted = false;
        self.changed();
        self.failures == 0
    }

    /// Notices an event or a bookmark with this version. Returns whether the watch has come further.
    pub(super) fn reached(&mut self, version: String) -> bool {
        self.heard = Instant::now();
        let not_back = |at: &&mut Position<K>| !later(&at.version, &version);
        let Some(at) = self.position.as_mut().filter(not_back) else {
            return false;
        };
        let is_new = at.version != version;
        at.version = version;
        is_new
    }

    /// Notices that the watch delivers changes.
    pub(super) fn changed(&mut self) {
        self.heard = Instant::now();
        self.unchanged_until = self.heard + jittered(UNCHANGED);
    }

    /// Whether the watch has proved that nothing is missing.
    pub(super) fn is_proved(&self) -> bool {
        let version = self.position.as_ref().and_then(|at| number(&at.version));
        matches!(self.doubt, Doubt::Until(goal) if version.is_some_and(|version| version >= goal))
    }

    /// Counts a failure of the watch, which may make the objects be listed again.
    pub(super) fn watch_failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.watch_ended();
        if self.failures >= FEW {
            self.position = None;
        }
    }

    /// Notices the end of the watch. One that should have proved that nothing is missing has not done so.
    pub(super) fn watch_ended(&mut self) {
        if self.doubt != Doubt::None {
            self.position = None;
        } else if let Some(at) = &mut self.position {
            at.watch = None;
        }
    }

    /// When the objects are listed again unless something is heard.
    pub(super) fn due(&self) -> Instant {
        (self.heard + SILENCE).min(self.unchanged_until)
    }

    /// When the watch counts as recovered; `None` if it works, or does not run.
    pub(super) fn good_at(&self) -> Option<Instant> {
        let watch = self.position.as_ref()?.watch.as_ref()?;
        self.failing.then_some(watch.began + GOOD)
    }

    /// Notices that the watch works. Returns whether it has failed before.
    pub(super) fn recovered(&mut self) -> bool {
        self.failures = 0;
        let failing = std::mem::take(&mut self.failing);
        if failing {
            self.backoff = Backoff::new();
        }
        failing
    }

    /// Notices a failure; returns how long to wait.
    pub(super) fn failed(&mut self) -> Duration {
        self.failing = true;
        self.backoff.failure()
    }
}
