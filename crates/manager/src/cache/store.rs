//! The objects of one kind as the API server last told them, read by all controllers without a request.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use kube::api::ObjectMeta;

use crate::{
    cache::{
        lenient::Unreadable,
        object::{Cached, version},
        progress::Progress,
        state::{Lost, Selection, State},
    },
    key::Key,
};

/// One change of an object in a cache.
///
/// An object that its type cannot read, because it was stored under an earlier schema, say, is in no list and is not
/// reconciled, but it is there: to take it for deleted would let controllers clean up after it. So handlers learn of it
/// as of an object that is gone, with its metadata, and to read it by its key is an error.
pub(crate) struct Change<'a, K> {
    pub(crate) key: &'a Key,
    /// The object as it was, or was last read; `None` when it is new.
    pub(crate) old: Option<&'a K>,
    /// The object as it is; `None` when it is gone or unreadable.
    pub(crate) new: Option<&'a K>,
    /// The metadata of an object that is unreadable, or was when it was deleted.
    pub(crate) unreadable: Option<&'a ObjectMeta>,
}

type Handler<K> = Box<dyn Fn(&Change<'_, K>) + Send + Sync>;

/// The objects of one kind.
pub(crate) struct Cache<K> {
    state: RwLock<State<K>>,
    /// Filled while controllers are registered, fixed from then on.
    handlers: RwLock<Vec<Handler<K>>>,
    pub(super) progress: Progress,
}

impl<K: Cached> Cache<K> {
    pub(super) fn new() -> Self {
        Self {
            state: RwLock::new(State::new()),
            handlers: RwLock::default(),
            progress: Progress::new(),
        }
    }

    /// The object, if there is one that can be read.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// Why the object that there is cannot be read.
    pub(crate) fn unreadable(&self, key: &Key) -> Option<Arc<Unreadable>> {
        let state = self.read();
        Some(state.unreadable.get(key)?.object.clone())
    }

    /// How many objects cannot be read.
    pub(super) fn unreadable_count(&self) -> usize {
        self.read().unreadable.len()
    }

    /// The keys of all objects, in no order.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read().objects.keys().cloned().collect()
    }

    /// The objects that are selected, in the order of their keys.
    pub(crate) fn select(&self, selection: &Selection<'_, K>) -> Vec<(Key, Arc<K>)> {
        if self.read().lacks_index(selection) {
            self.write().add_index(selection);
        }
        let mut found = self.read().select(selection);
        // Those of an index or a namespace are in order already, which costs one look at each.
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    /// Calls `handler` at every change.
    pub(crate) fn on_change(&self, handler: impl Fn(&Change<'_, K>) + Send + Sync + 'static) {
        let mut handlers = self
            .handlers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        handlers.push(Box::new(handler));
    }

    /// Waits until all objects have been listed once.
    pub(crate) async fn synced(&self) {
        self.progress.complete().await;
    }

    /// Whether the object was unreadable until now.
    pub(super) fn set(&self, key: &Key, object: &K) -> bool {
        // A copy has no spare capacity, which what was parsed has: of a list of one, room for four.
        let object = Arc::new(object.clone());
        let (old, repaired) = {
            let mut state = self.write();
            let repaired = state.found(key).is_some();
            let old = state.insert(key, &object);
            (old, repaired)
        };
        // A list tells again what is known already.
        if old
            .as_ref()
            .is_none_or(|old| version(&**old) != version(&*object))
        {
            self.tell(&Change {
                key,
                old: old.as_deref(),
                new: Some(&object),
                unreadable: None,
            });
        }
        repaired
    }

    /// Returns what is to be reported, unless that was before.
    pub(super) fn set_unreadable(&self, key: &Key, object: Unreadable) -> Option<Arc<Unreadable>> {
        let object = Arc::new(object);
        let (before, last) = {
            let mut state = self.write();
            let before = state.found(key);
            let last = state
                .remove(key)
                .or(before.as_ref().and_then(|before| before.last.clone()));
            state.unreadable.insert(
                key.clone(),
                Lost {
                    object: object.clone(),
                    last: last.clone(),
                },
            );
            (before.map(|before| before.object), last)
        };
        let version = |object: &Unreadable| object.meta.resource_version.clone();
        if before
            .as_ref()
            .is_none_or(|before| version(before) != version(&object))
        {
            self.tell(&Change {
                key,
                old: last.as_deref(),
                new: None,
                unreadable: Some(&object.meta),
            });
        }
        before
            .is_none_or(|before| before.reason != object.reason)
            .then_some(object)
    }

    pub(super) fn remove(&self, key: &Key) {
        let (old, lost) = {
            let mut state = self.write();
            (state.remove(key), state.found(key))
        };
        let old = old.or(lost.as_ref().and_then(|lost| lost.last.clone()));
        if old.is_some() || lost.is_some() {
            self.tell(&Change {
                key,
                old: old.as_deref(),
                new: None,
                unreadable: lost.as_ref().map(|lost| &lost.object.meta),
            });
        }
    }

    /// Removes what a complete list of `namespace`, or of all, did not hold.
    pub(super) fn retain(&self, namespace: Option<&str>, listed: &HashSet<Key>) {
        let gone: Vec<_> = {
            let state = self.read();
            let here = |key: &&Key| namespace.is_none() || key.namespace() == namespace;
            let keys = state.objects.keys().chain(state.unreadable.keys());
            let gone = keys.filter(here).filter(|key| !listed.contains(*key));
            gone.cloned().collect()
        };
        for key in &gone {
            self.remove(key);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State<K>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<K>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: &Change<'_, K>) {
        let handlers = self.handlers.read().unwrap_or_else(PoisonError::into_inner);
        handlers.iter().for_each(|handler| handler(change));
    }
}

#[cfg(test)]
mod tests;
