//! The objects of one kind as the API server last sent them, which all controllers read without a request.

use std::{
    collections::{BTreeMap, HashSet},
    convert::Infallible,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use kube::api::ObjectMeta;
use tokio::time::sleep;

use crate::{
    cache::{
        ahead::LIMIT,
        lenient::{Lenient, Unreadable},
        object::{Cached, number, version},
        presence::Presence,
        progress::Progress,
        shape::Shape,
        state::{Lost, Selection, State},
        written::Withdrawn,
    },
    key::Key,
    panics::dropped,
};

/// One change of an object in a cache.
///
/// An object that its type cannot read, for example because it was stored under an earlier schema, is not listed and
/// not reconciled. But it exists: if it were treated as deleted, controllers would clean up after it. So handlers see
/// it like an object that is gone, but with its metadata, and reading it by its key is an error.
pub(crate) struct Change<'a, K> {
    pub(crate) key: &'a Key,
    /// The object before the change, or when it was last readable; `None` if it is new.
    pub(crate) old: Option<&'a K>,
    /// The object after the change; `None` if it is gone or unreadable.
    pub(crate) new: Option<&'a K>,
    /// The metadata of an object that is unreadable, or was unreadable when it was deleted.
    pub(crate) unreadable: Option<&'a ObjectMeta>,
    /// Whether the object was found when the cache was filled for the first time, so nothing may have changed.
    pub(crate) initial: bool,
}

type Handler<K> = Box<dyn Fn(&Change<'_, K>) + Send + Sync>;

/// The objects of one kind.
pub(crate) struct Cache<K> {
    state: RwLock<State<K>>,
    /// Filled while controllers are registered, and fixed from then on.
    handlers: RwLock<Vec<Handler<K>>>,
    /// Set before the watch starts.
    shape: RwLock<Arc<Shape<K>>>,
    pub(crate) presence: Presence,
    /// Whether its lists are streamed, as far as is known.
    streamed: AtomicBool,
    pub(super) progress: Progress,
}

impl<K: Cached> Cache<K> {
    pub(super) fn new() -> Self {
        Self {
            state: RwLock::new(State::new()),
            handlers: RwLock::default(),
            shape: RwLock::default(),
            presence: Presence::default(),
            streamed: AtomicBool::new(streams_lists()),
            progress: Progress::new(),
        }
    }

    /// Which objects it holds, and what of them.
    pub(crate) fn shape(&self) -> Arc<Shape<K>> {
        let shape = self.shape.read().unwrap_or_else(PoisonError::into_inner);
        shape.clone()
    }

    /// Changes its shape, which has an effect until the watch starts.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut Shape<K>)) {
        let mut shape = self.shape.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut shape));
    }

    /// Whether its kind is optional and missing, or its objects have not all been listed since it was installed. Until
    /// then the cache reads as empty, because a reconcile could not tell a part of the objects from all of them.
    pub(crate) fn is_absent(&self) -> bool {
        self.presence.is_optional() && self.progress.is_absent()
    }

    /// Whether its lists are streamed, unless the API server has been seen not to.
    pub(super) fn is_streamed(&self) -> bool {
        self.streamed.load(Ordering::Relaxed)
    }

    /// Lists in pages from now on.
    pub(super) fn list_in_pages(&self) {
        self.streamed.store(false, Ordering::Relaxed);
    }

    /// The object, if it exists and can be read.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        if self.is_absent() {
            return None;
        }
        self.read().objects.get(key).cloned()
    }

    /// The reason why the existing object cannot be read.
    pub(crate) fn unreadable(&self, key: &Key) -> Option<Arc<Unreadable>> {
        if self.is_absent() {
            return None;
        }
        let state = self.read();
        Some(state.unreadable.get(key)?.object.clone())
    }

    /// The objects that cannot be read.
    pub(super) fn all_unreadable(&self) -> Vec<Arc<Unreadable>> {
        let state = self.read();
        let objects = state.unreadable.values();
        objects.map(|lost| lost.object.clone()).collect()
    }

    /// The number of objects that cannot be read.
    pub(super) fn unreadable_count(&self) -> usize {
        self.read().unreadable.len()
    }

    /// The keys of all objects, sorted.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read().keys.iter().cloned().collect()
    }

    /// The selected objects, sorted by key.
    pub(crate) fn select(&self, selection: &Selection<'_, K>) -> Vec<(Key, Arc<K>)> {
        if self.is_absent() {
            return Vec::new();
        }
        if self.read().lacks_index(selection) {
            self.write().add_index(selection);
        }
        let mut found = self.read().select(selection);
        // Those of an index or a namespace are already sorted, and then sorting looks at each only once.
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    /// Calls `handler` on every change.
    pub(crate) fn on_change(&self, handler: impl Fn(&Change<'_, K>) + Send + Sync + 'static) {
        let mut handlers = self
            .handlers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        handlers.push(Box::new(handler));
    }

    /// Waits until all objects have been listed once, and the cache is not [doubted](Progress::doubt).
    pub(crate) async fn synced(&self) {
        self.progress.current().await;
    }

    /// Stores an object; returns whether it was unreadable before.
    pub(super) fn set(&self, key: &Key, object: &Arc<K>) -> bool {
        let (old, repaired) = {
            let mut state = self.write();
            let repaired = state.found(key).is_some();
            let old = state.deliver(key, object);
            (old, repaired)
        };
        // A list repeats objects that are known already.
        if old
            .as_ref()
            .is_none_or(|old| version(&**old) != version(&**object))
        {
            self.tell(&Change {
                key,
                old: old.as_deref(),
                new: Some(object),
                unreadable: None,
                initial: old.is_none() && !repaired && !self.progress.is_complete(),
            });
        }
        dropped(old);
        repaired
    }

    /// Returns the object if it must be reported, and has not been before.
    pub(super) fn set_unreadable(&self, key: &Key, object: Unreadable) -> Option<Arc<Unreadable>> {
        let object = Arc::new(object);
        let (before, last) = {
            let mut state = self.write();
            let before = state.found(key);
            let last = state
                .discard(key)
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
                initial: before.is_none() && last.is_none() && !self.progress.is_complete(),
            });
        }
        before
            .is_none_or(|before| before.reason != object.reason)
            .then_some(object)
    }

    /// Removes a deleted object, whose last metadata have the version of the deletion.
    pub(super) fn remove(&self, key: &Key, last: &ObjectMeta) {
        self.removed(key, |state| state.deliver_deletion(key, last));
    }

    /// Removes the objects that the complete list of `namespace`, or of all namespaces, with this version did not
    /// contain; all of them if there is no version.
    pub(super) fn retain(&self, namespace: Option<&str>, listed: &HashSet<Key>, version: &str) {
        let at = number(version);
        let gone = {
            let mut state = self.write();
            if let Some(at) = at {
                state.ahead.listed(namespace, at);
            }
            state.beside(namespace, listed)
        };
        for key in &gone {
            self.removed(key, |state| state.deliver_absence(key, at));
        }
    }

    /// Reports an object that is gone; `remove` returns its last readable version.
    fn removed(&self, key: &Key, remove: impl FnOnce(&mut State<K>) -> Option<Arc<K>>) {
        let (old, lost) = {
            let mut state = self.write();
            (remove(&mut state), state.found(key))
        };
        let old = old.or(lost.as_ref().and_then(|lost| lost.last.clone()));
        if old.is_some() || lost.is_some() {
            self.tell(&Change {
                key,
                old: old.as_deref(),
                new: None,
                unreadable: lost.as_ref().map(|lost| &lost.object.meta),
                initial: false,
            });
        }
        dropped(old);
    }

    /// Shows readers the result of a write, until the watch delivers that version or a later one. Handlers are not
    /// called before that, or before it is withdrawn.
    ///
    /// If fields select the objects, only the API server knows whether a new one is selected, so it is not shown.
    pub(crate) fn wrote(&self, key: &Key, object: Arc<K>) {
        let (shape, meta) = (self.shape(), object.meta());
        if is_gone(meta) || !shape.selects(meta.labels.as_ref().unwrap_or(&BTreeMap::new())) {
            let (uid, version) = (meta.uid.as_deref(), version(&*object));
            let withdrawn = self.write().hide(key, uid, Some(version));
            self.withdrawn(withdrawn);
        } else if let Lenient::Object(object) = shape.transformed_shared(object) {
            let withdrawn = self.write().show(key, &object, !shape.has_fields());
            self.withdrawn(withdrawn);
        }
    }

    /// Hides an object that a controller has deleted.
    pub(super) fn deleted(&self, key: &Key, uid: &str) {
        let withdrawn = self.write().hide(key, Some(uid), None);
        self.withdrawn(withdrawn);
    }

    /// Withdraws the writes that the watch has not delivered for too long, from time to time, until dropped.
    pub(super) async fn withdraw_old(&self) -> Infallible {
        loop {
            sleep(LIMIT / 4).await;
            let withdrawn = self.write().withdraw_old();
            self.withdrawn(withdrawn);
        }
    }

    /// Calls the handlers for what readers no longer see.
    fn withdrawn(&self, withdrawn: impl IntoIterator<Item = Withdrawn<K>>) {
        for it in withdrawn {
            self.tell(&Change {
                key: &it.key,
                old: it.shown.as_deref(),
                new: it.delivered.as_deref(),
                unreadable: None,
                initial: false,
            });
        }
    }

    /// Whether the watch has delivered all writes.
    #[cfg(test)]
    pub(super) fn is_even(&self) -> bool {
        self.read().ahead.keys().next().is_none()
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

/// Whether the API server has deleted an object as soon as it was written: its last finalizer is gone, and no kubelet
/// has yet to end it. The phase of a Namespace is not known here, so it counts as present.
fn is_gone(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.deletion_grace_period_seconds == Some(0)
        && meta.finalizers.as_deref().unwrap_or_default().is_empty()
}

/// The switch of this feature in client-go, which reads its features from the environment.
const SWITCH: &str = "KUBE_FEATURE_WatchListClient";

/// Whether lists are streamed, which is the default.
fn streams_lists() -> bool {
    !is_off(std::env::var(SWITCH).unwrap_or_default().trim())
}

/// Whether the switch has this value, in any form that Go accepts for `false`.
fn is_off(value: &str) -> bool {
    ["0", "f", "F", "false", "False", "FALSE"].contains(&value)
}

#[cfg(test)]
mod tests;
