//! The writes of controllers that the watch has not delivered yet.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    cache::object::{Cached, number, version},
    key::Key,
};

/// How long a write is shown at most: longer than it takes until a list replaces a watch that delivers nothing. A write that
/// takes an object out of a field selector, for example, may never be delivered.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// How many writes are shown at most, of one kind. Only a watch that fails has so many.
pub(super) const MOST: usize = 10_000;

/// The writes that the watch has not delivered yet.
pub(super) struct Ahead<K> {
    pub(super) writes: HashMap<Key, Write<K>>,
    /// A version up to which the watch of each namespace has delivered everything: that of the last list or deletion. The
    /// watch of all namespaces has an empty name.
    reached: HashMap<String, u128>,
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
            reached: HashMap::new(),
        }
    }

    /// The keys of the objects that were written.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.writes.keys()
    }

    /// Notices that the list of a namespace, or of all, is complete up to a version.
    pub(super) fn listed(&mut self, namespace: Option<&str>, version: u128) {
        let namespace = namespace.unwrap_or_default();
        self.reached.insert(namespace.to_owned(), version);
    }

    /// Notices that the watch has delivered the deletion of an object, with the version of that event.
    pub(super) fn deleted(&mut self, key: &Key, version: u128) {
        let here = key.namespace().unwrap_or_default();
        let here = if self.reached.contains_key(here) {
            here
        } else {
            ""
        };
        if let Some(reached) = self.reached.get_mut(here) {
            *reached = version;
        }
    }

    /// Whether the watch has delivered what a write of an object resulted in, which has this version.
    pub(super) fn has_reached(&self, key: &Key, version: u128) -> bool {
        let of = |namespace: &str| self.reached.get(namespace);
        let here = of(key.namespace().unwrap_or_default()).or_else(|| of(""));
        here.is_some_and(|reached| version <= *reached)
    }
}
