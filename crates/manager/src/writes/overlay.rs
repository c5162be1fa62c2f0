//! The last writes of a controller to its objects, for reconciles that start before the watch has delivered them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    cache::object::{Cached, later, version},
    key::Key,
};

/// The objects as the controller last wrote them, until its cache has seen them.
pub(crate) struct Overlay<K>(Mutex<HashMap<Key, Arc<K>>>);

impl<K: Cached> Overlay<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Remembers the result of a write, unless the cache, which `cached` reads, has already seen it.
    pub(crate) fn set(&self, key: &Key, object: Arc<K>, cached: impl FnOnce() -> Option<Arc<K>>) {
        self.lock().insert(key.clone(), object);
        // Only now: the watch may be faster than the response to the write, and it reports a change only once.
        self.seen(key, cached().as_deref());
    }

    /// Forgets an object if the watch has delivered the same or a later version; `None` if the object is gone.
    pub(crate) fn seen(&self, key: &Key, seen: Option<&K>) {
        let mut objects = self.lock();
        let ahead = |own: &Arc<K>| seen.is_some_and(|seen| later(version(&**own), version(seen)));
        if objects.get(key).is_some_and(|own| !ahead(own)) {
            objects.remove(key);
        }
    }

    /// The later of the cached and the written object.
    pub(crate) fn over(&self, key: &Key, cached: Arc<K>) -> Arc<K> {
        match self.lock().get(key) {
            Some(own) if later(version(&**own), version(&*cached)) => own.clone(),
            _ => cached,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<K>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(version: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.resource_version = Some(version.to_owned());
        Arc::new(object)
    }

    #[test]
    fn an_overlay_lasts_until_the_cache_has_caught_up() {
        let (overlay, key) = (Overlay::<ConfigMap>::new(), Key::from("ns/a"));
        overlay.set(&key, object("5"), || Some(object("4")));
        assert_eq!(version(&*overlay.over(&key, object("4"))), "5");
        assert_eq!(version(&*overlay.over(&key, object("6"))), "6");
        overlay.seen(&key, Some(&object("4")));
        assert_eq!(version(&*overlay.over(&key, object("4"))), "5");
        overlay.seen(&key, Some(&object("5")));
        assert!(overlay.lock().is_empty());
        for cached in [Some(object("7")), None] {
            overlay.set(&key, object("7"), || cached);
            assert!(overlay.lock().is_empty());
        }
    }
}
