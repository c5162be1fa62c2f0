//! The objects that a cache holds, and how they are found.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use kube::core::{Selector, SelectorExt};

use crate::{
    cache::{
        index::{IndexBy, Indexes},
        lenient::Unreadable,
        object::Cached,
    },
    key::Key,
};

pub(super) struct State<K> {
    pub(super) objects: HashMap<Key, Arc<K>>,
    /// The keys of `objects` in order, so that those of one namespace are found without a look at all: 16 bytes each,
    /// and touched only when objects come and go.
    keys: BTreeSet<Key>,
    indexes: Indexes<K>,
    pub(super) unreadable: HashMap<Key, Lost<K>>,
}

/// An object that cannot be read.
pub(super) struct Lost<K> {
    pub(super) object: Arc<Unreadable>,
    /// As it was last read.
    pub(super) last: Option<Arc<K>>,
}

/// Which objects to list.
pub(crate) struct Selection<'a, K> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) labels: &'a Selector,
    /// An index, and the value to look for.
    pub(crate) index: Option<(IndexBy<K>, &'a str)>,
}

impl<K: Cached> State<K> {
    pub(super) fn new() -> Self {
        Self {
            objects: HashMap::new(),
            keys: BTreeSet::new(),
            indexes: Indexes::new(),
            unreadable: HashMap::new(),
        }
    }

    /// Whether a selection needs an index that is yet to be made.
    pub(super) fn lacks_index(&self, selection: &Selection<'_, K>) -> bool {
        let index = selection.index;
        index.is_some_and(|(values, _)| !self.indexes.has(values))
    }

    /// Makes the index that a selection needs.
    pub(super) fn add_index(&mut self, selection: &Selection<'_, K>) {
        // Another may have made it meanwhile.
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

    /// Takes the object from among those that cannot be read.
    pub(super) fn found(&mut self, key: &Key) -> Option<Lost<K>> {
        // There is hardly ever one.
        if self.unreadable.is_empty() {
            return None;
        }
        self.unreadable.remove(key)
    }

    /// In the order of their keys if they are those of an index or a namespace, and in no order otherwise.
    ///
    /// Filtered here, under the lock, so that only what is selected is copied.
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
