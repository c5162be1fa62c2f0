//! The objects in a cache, and the ways to find them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use kube::core::{Selector, SelectorExt};

use crate::{
    cache::{
        ahead::Ahead,
        index::{IndexBy, Indexes},
        lenient::Unreadable,
        object::Cached,
    },
    key::Key,
};

pub(super) struct State<K> {
    /// The objects as readers see them.
    pub(super) objects: HashMap<Key, Arc<K>>,
    /// The keys of `objects`, sorted, so that the objects of one namespace are found without looking at all. They take
    /// 16 bytes each, and are changed only when objects are added or removed.
    pub(super) keys: BTreeSet<Key>,
    indexes: Indexes<K>,
    pub(super) unreadable: HashMap<Key, Lost<K>>,
    pub(super) ahead: Ahead<K>,
}

/// An object that cannot be read.
pub(super) struct Lost<K> {
    pub(super) object: Arc<Unreadable>,
    /// The last readable version of the object.
    pub(super) last: Option<Arc<K>>,
}

/// Which objects to list.
pub(crate) struct Selection<'a, K> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) labels: &'a Selector,
    /// An index, and the value to look up.
    pub(crate) index: Option<(IndexBy<K>, &'a str)>,
}

impl<K: Cached> State<K> {
    pub(super) fn new() -> Self {
        Self {
            objects: HashMap::new(),
            keys: BTreeSet::new(),
            indexes: Indexes::new(),
            unreadable: HashMap::new(),
            ahead: Ahead::new(),
        }
    }

    /// Whether a selection needs an index that does not exist yet.
    pub(super) fn lacks_index(&self, selection: &Selection<'_, K>) -> bool {
        let index = selection.index;
        index.is_some_and(|(values, _)| !self.indexes.has(values))
    }

    /// Builds the index that a selection needs.
    pub(super) fn add_index(&mut self, selection: &Selection<'_, K>) {
        // Another thread may have built it meanwhile.
        if let Some((values, _)) = selection.index
            && !self.indexes.has(values)
        {
            let objects = self.objects.iter();
            self.indexes
                .add(values, objects.map(|(key, object)| (key, &**object)));
        }
    }

    pub(super) fn insert(&mut self, key: &Key, object: &Arc<K>) -> Option<Arc<K>> {
        let old = self.objects.insert(key.clone(), object.clone());
        if old.is_none() {
            self.keys.insert(key.clone());
        }
        self.indexes.change(key, old.as_deref(), Some(object));
        old
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let old = self.objects.remove(key)?;
        self.keys.remove(key);
        self.indexes.change(key, Some(&old), None);
        Some(old)
    }

    /// Removes the object from those that cannot be read.
    pub(super) fn found(&mut self, key: &Key) -> Option<Lost<K>> {
        // This is nearly always the case.
        if self.unreadable.is_empty() {
            return None;
        }
        self.unreadable.remove(key)
    }

    /// The keys of the objects in a namespace, sorted.
    fn keys_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Key> {
        let from = Key::from(&*format!("{namespace}/"));
        let keys = self.keys.range(from..);
        keys.take_while(move |key| key.namespace() == Some(namespace))
    }

    /// The keys that are known in a namespace, or in all, and not in `listed`.
    pub(super) fn beside(&self, namespace: Option<&str>, listed: &HashSet<Key>) -> BTreeSet<Key> {
        let here = |key: &&Key| namespace.is_none() || key.namespace() == namespace;
        let others = self.unreadable.keys().chain(self.ahead.keys()).filter(here);
        let beside = |key: &&Key| !listed.contains(*key);
        let keys: Box<dyn Iterator<Item = &Key>> = match namespace {
            // Those of other namespaces are not looked at: there may be very many.
            Some(namespace) => Box::new(self.keys_in(namespace)),
            None => Box::new(self.keys.iter()),
        };
        keys.chain(others).filter(beside).cloned().collect()
    }

    /// The objects are sorted by key if the selection has an index or a namespace, and unsorted otherwise.
    ///
    /// They are filtered here, under the lock, so that only selected objects are copied.
    pub(super) fn select(&self, selection: &Selection<'_, K>) -> Vec<(Key, Arc<K>)> {
        let none = BTreeMap::new();
        let fits = |object: &K| {
            let labels = object.meta().labels.as_ref();
            selection.labels.matches(labels.unwrap_or(&none))
        };
        let whole = |key: &Key| {
            let object = self.objects.get(key)?;
            fits(object).then(|| (key.clone(), object.clone()))
        };
        match (selection.index, selection.namespace) {
            (Some((values, value)), namespace) => {
                let keys = self.indexes.find(values, value);
                let here = |key: &&Key| namespace.is_none() || key.namespace() == namespace;
                keys.filter(here).filter_map(whole).collect()
            }
            (None, Some(namespace)) => self.keys_in(namespace).filter_map(whole).collect(),
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
