//! The writes of controllers that the watch has not delivered yet.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    cache::object::{Cached, number, version},
    key::Key,
};

/// How long a write is shown at most: longer than it takes to replace a watch on a dead connection. A write that takes
/// an object out of a field selector, for example, may never be delivered.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// How many writes are shown at most, of one kind. Only a watch that fails has so many.
pub(super) const MOST: usize = 10_000;

/// How many deletions are remembered: those that the watch may deliver before the response to an earlier write.
const DELETIONS: usize = 1_000;

/// The writes that the watch has not delivered yet.
pub(super) struct Ahead<K> {
    pub(super) writes: HashMap<Key, Write<K>>,
    /// The time of a write that is as old as the oldest, or older.
    pub(super) since: Option<Instant>,
    /// The uids of the objects whose deletion the watch delivered last, and the versions of these events.
    deleted: VecDeque<(String, Option<u128>)>,
}

/// One write.
pub(super) struct Write<K> {
    pub(super) uid: Option<String>,
    /// The version that the write resulted in; `None` if it deleted the object, which no version can follow.
    pub(super) version: Option<u128>,
    /// Whether readers no longer see the object.
    pub(super) hides: bool,
    /// The object as the watch last delivered it.
    pub(super) delivered: Option<Arc<K>>,
    pub(super) at: Instant,
}

impl<K: Cached> Write<K> {
    /// Whether an object that the watch delivers is older than this write.
    pub(super) fn outdates(&self, object: &K) -> bool {
        let (same, found) = (self.uid == object.meta().uid, number(version(object)));
        match self.version {
            None => same,
            Some(own) if self.hides => same && found.is_some_and(|found| found <= own),
            Some(own) => found.is_some_and(|found| found < own),
        }
    }

    /// Whether this write is later than the deletion event with this version, or of another object. The watch delivers as
    /// deleted what leaves a selection, too, and the write may have put it back.
    pub(super) fn follows(&self, uid: Option<&str>, at: Option<u128>) -> bool {
        self.uid.as_deref() != uid || self.version.zip(at).is_some_and(|(own, at)| own > at)
    }
}

impl<K: Cached> Ahead<K> {
    pub(super) fn new() -> Self {
        Self {
            writes: HashMap::new(),
            since: None,
            deleted: VecDeque::new(),
        }
    }

    /// Whether some writes have been shown for long enough.
    pub(super) fn has_expired(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() > LIMIT)
    }

    /// The keys of the objects that were written.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.writes.keys()
    }

    pub(super) fn remember_deletion(&mut self, uid: &str, at: Option<u128>) {
        if self.deleted.len() == DELETIONS {
            self.deleted.pop_front();
        }
        self.deleted.push_back((uid.to_owned(), at));
    }

    /// Whether the watch has delivered a deletion after a write that resulted in this version.
    pub(super) fn is_deleted(&self, uid: &str, own: u128) -> bool {
        let mut deleted = self.deleted.iter();
        deleted.any(|(other, at)| other == uid && at.is_none_or(|at| own <= at))
    }
}
