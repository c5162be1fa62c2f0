//! The objects of one kind as the API server last told them, read by all controllers without a request.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use kube::{
    api::ObjectMeta,
    core::{Selector, SelectorExt},
};

use crate::{
    cache::{
        index::{IndexBy, Indexes},
        lenient::Unreadable,
        object::{Cached, version},
        progress::Progress,
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

struct State<K> {
    objects: HashMap<Key, Arc<K>>,
    /// The keys of `objects` in order, so that those of one namespace are found without a look at all: 16 bytes each,
    /// and touched only when objects come and go.
    keys: BTreeSet<Key>,
    indexes: Indexes<K>,
    unreadable: HashMap<Key, Lost<K>>,
}

/// An object that cannot be read.
struct Lost<K> {
    object: Arc<Unreadable>,
    /// As it was last read.
    last: Option<Arc<K>>,
}

/// Which objects to list.
pub(crate) struct Selection<'a, K> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) labels: &'a Selector,
    /// An index, and the value to look for.
    pub(crate) index: Option<(IndexBy<K>, &'a str)>,
}

impl<K: Cached> Cache<K> {
    pub(super) fn new() -> Self {
        let state = State {
            objects: HashMap::new(),
            keys: BTreeSet::new(),
            indexes: Indexes::new(),
            unreadable: HashMap::new(),
        };
        Self {
            state: RwLock::new(state),
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
        if let Some((values, _)) = selection.index {
            self.ensure_index(values);
        }
        let mut found = self.read().select(selection);
        // Those of an index or a namespace are in order already, which costs one look at each.
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    fn ensure_index(&self, values: IndexBy<K>) {
        if self.read().indexes.has(values) {
            return;
        }
        let State {
            objects, indexes, ..
        } = &mut *self.write();
        // Another may have made the index meanwhile.
        if !indexes.has(values) {
            indexes.add(values, objects.iter().map(|(key, object)| (key, &**object)));
        }
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
            let old = state.insert(key, object.clone());
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
            let lost = Lost {
                object: object.clone(),
                last: last.clone(),
            };
            state.unreadable.insert(key.clone(), lost);
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

impl<K: Cached> State<K> {
    fn insert(&mut self, key: &Key, object: Arc<K>) -> Option<Arc<K>> {
        let old = self.objects.insert(key.clone(), object.clone());
        if old.is_none() {
            self.keys.insert(key.clone());
        }
        self.indexes.change(key, old.as_deref(), Some(&object));
        old
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let old = self.objects.remove(key)?;
        self.keys.remove(key);
        self.indexes.change(key, Some(&old), None);
        Some(old)
    }

    /// Takes the object from among those that cannot be read.
    fn found(&mut self, key: &Key) -> Option<Lost<K>> {
        // There is hardly ever one.
        if self.unreadable.is_empty() {
            return None;
        }
        self.unreadable.remove(key)
    }

    /// In the order of their keys if they are those of an index or a namespace, and in no order otherwise.
    ///
    /// Filtered here, under the lock, so that only what is selected is copied.
    fn select(&self, selection: &Selection<'_, K>) -> Vec<(Key, Arc<K>)> {
        let fits = |object: &K| {
            let labels = object.meta().labels.as_ref();
            labels.map_or_else(
                || selection.labels.matches(&std::collections::BTreeMap::new()),
                |labels| selection.labels.matches(labels),
            )
        };
        let whole = |key: &Key| {
            let object = self.objects.get(key)?;
            fits(object).then(|| (key.clone(), object.clone()))
        };
        match (selection.index, selection.namespace) {
            (Some((values, value)), None) => {
                let keys = self.indexes.find(values, value);
                keys.filter_map(whole).collect()
            }
            (Some((values, value)), namespace) => {
                let keys = self.indexes.find(values, value);
                let here = keys.filter(|key| key.namespace() == namespace);
                here.filter_map(whole).collect()
            }
            (None, Some(namespace)) => {
                let from = Key::from(&*format!("{namespace}/"));
                let keys = self.keys.range(from..);
                let here = keys.take_while(|key| key.namespace() == Some(namespace));
                here.filter_map(whole).collect()
            }
            (None, None) => {
                let all = self.objects.iter();
                let found = all.filter(|(_, object)| fits(object));
                found
                    .map(|(key, object)| (key.clone(), object.clone()))
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    use tokio::sync::mpsc;

    use super::*;

    fn object(namespace: &str, name: &str, version: &str) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(name.to_owned()),
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    /// A cache that holds these, each at version 1, and what is told from then on.
    fn cache(keys: &[&str]) -> (Cache<ConfigMap>, mpsc::UnboundedReceiver<String>) {
        let cache = Cache::new();
        for key in keys.iter().map(|key| Key::from(*key)) {
            let namespace = key.namespace().unwrap();
            cache.set(&key, &object(namespace, key.name(), "1"));
        }
        let (sender, told) = mpsc::unbounded_channel();
        cache.on_change(move |change| {
            let version = |object: Option<&ConfigMap>| object.map_or("none", version).to_owned();
            let (old, new) = (version(change.old), version(change.new));
            let unreadable = if change.unreadable.is_some() {
                " unreadable"
            } else {
                ""
            };
            let told = format!("{} {old} {new}{unreadable}", change.key);
            sender.send(told).unwrap();
        });
        (cache, told)
    }

    #[test]
    fn changes_are_told_with_what_was_before() {
        let (cache, mut told) = cache(&["ns/a"]);
        cache.set(&"ns/a".into(), &object("ns", "a", "2"));
        cache.set(&"ns/b".into(), &object("ns", "b", "3"));
        cache.remove(&"ns/a".into());
        cache.remove(&"ns/unknown".into());
        for change in ["ns/a 1 2", "ns/b none 3", "ns/a 2 none"] {
            assert_eq!(told.try_recv().unwrap(), change);
        }
        assert!(told.try_recv().is_err());
    }

    fn unreadable(version: &str, reason: &str) -> Unreadable {
        Unreadable {
            meta: object("ns", "a", version).metadata,
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn an_unreadable_object_is_told_as_gone_and_listed_no_more_until_it_is_repaired() {
        let (cache, mut told) = cache(&["ns/a", "ns/b"]);
        let key = "ns/a".into();
        assert!(
            cache
                .set_unreadable(&key, unreadable("2", "data"))
                .is_some()
        );
        assert!(cache.get(&key).is_none());
        assert_eq!(cache.keys(), ["ns/b".into()]);
        assert_eq!(cache.unreadable(&key).unwrap().reason, "data");
        // Another version for the same reason is no news, another reason is.
        assert!(
            cache
                .set_unreadable(&key, unreadable("3", "data"))
                .is_none()
        );
        assert!(
            cache
                .set_unreadable(&key, unreadable("3", "kind"))
                .is_some()
        );
        assert!(cache.set(&key, &object("ns", "a", "4")));
        assert!(cache.unreadable(&key).is_none());
        for change in [
            "ns/a 1 none unreadable",
            "ns/a 1 none unreadable",
            "ns/a none 4",
        ] {
            assert_eq!(told.try_recv().unwrap(), change);
        }
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn the_deletion_of_an_unreadable_object_is_honored() {
        let (cache, mut told) = cache(&["ns/a"]);
        let key = "ns/a".into();
        cache.set_unreadable(&key, unreadable("2", "data"));
        cache.remove(&key);
        assert!(cache.unreadable(&key).is_none());
        cache.set_unreadable(&key, unreadable("3", "data"));
        cache.retain(None, &HashSet::new());
        assert!(cache.unreadable(&key).is_none());
        for change in [
            "ns/a 1 none unreadable",
            "ns/a 1 none unreadable",
            "ns/a none none unreadable",
            "ns/a none none unreadable",
        ] {
            assert_eq!(told.try_recv().unwrap(), change);
        }
    }

    #[test]
    fn a_list_is_in_order_whether_it_is_of_all_or_of_a_namespace_or_index() {
        fn names(map: &ConfigMap) -> Vec<String> {
            map.metadata.name.iter().cloned().collect()
        }
        let (cache, _told) = cache(&["ns/b", "ns-2/a", "ns/a", "n/a"]);
        let list = |namespace, index| {
            let selection = Selection {
                namespace,
                labels: &Selector::default(),
                index,
            };
            let found = cache.select(&selection).into_iter();
            found.map(|(key, _)| key.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(list(None, None), ["n/a", "ns-2/a", "ns/a", "ns/b"]);
        assert_eq!(list(Some("ns"), None), ["ns/a", "ns/b"]);
        assert_eq!(list(None, Some((names, "a"))), ["n/a", "ns-2/a", "ns/a"]);
        assert_eq!(list(Some("ns"), Some((names, "a"))), ["ns/a"]);
        cache.remove(&"ns/a".into());
        assert_eq!(list(Some("ns"), None), ["ns/b"]);
    }

    #[test]
    fn what_a_new_list_tells_again_is_no_change() {
        let (cache, mut told) = cache(&["ns/a"]);
        cache.set(&"ns/a".into(), &object("ns", "a", "1"));
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn what_a_new_list_does_not_hold_is_gone_in_its_namespace_only() {
        let (cache, mut told) = cache(&["ns/a", "ns/b", "other/a"]);
        cache.retain(Some("ns"), &["ns/a".into()].into());
        assert_eq!(told.try_recv().unwrap(), "ns/b 1 none");
        assert!(told.try_recv().is_err());
        cache.retain(None, &["ns/a".into()].into());
        assert_eq!(told.try_recv().unwrap(), "other/a 1 none");
        assert!(cache.get(&"ns/a".into()).is_some());
    }
}
