//! What a controller itself has written lately, so that it neither wakes itself nor works on what it has overwritten.

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    key::Key,
    object::{Cached, later, version},
    queue::Queue,
};

/// Tells a controller's own changes from those of others as they come back by a watch.
///
/// The watch may be faster than the answer to the write, so while a write is under way the changes of that object
/// are held back; once it is answered, all but its own wake the controller.
pub(crate) struct Writes {
    queue: Arc<Queue>,
    objects: Mutex<HashMap<(TypeId, Key), Object>>,
}

#[derive(Default)]
struct Object {
    under_way: usize,
    /// Resource versions that came meanwhile, and whom they concern.
    held: Vec<(String, Key)>,
    /// Resource versions of our writes that the watch has yet to bring.
    expected: Vec<String>,
}

impl Object {
    /// Whether there is nothing to remember.
    fn is_idle(&self) -> bool {
        self.under_way == 0 && self.expected.is_empty()
    }
}

/// Stands for `C` as a child, as a kind may own objects of itself and the two wake apart.
pub(crate) struct Child<C>(std::marker::PhantomData<C>);

/// A write under way. Dropped without [`finish`](Self::finish), as at a time-out, it counts as having written nothing.
pub(crate) struct Write<'a> {
    writes: &'a Writes,
    id: (TypeId, Key),
}

impl Writes {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self {
            queue,
            objects: Mutex::default(),
        }
    }

    /// Announces a write to an object of `K`.
    pub(crate) fn begin<K: 'static>(&self, key: &Key) -> Write<'_> {
        let id = (TypeId::of::<K>(), key.clone());
        self.lock().entry(id.clone()).or_default().under_way += 1;
        Write { writes: self, id }
    }

    /// Wakes the controller for `wake`, because a watch brought this version of an object of `K`; unless the
    /// controller wrote that itself. `None`: the object is gone.
    pub(crate) fn wake<K: 'static>(&self, key: &Key, version: Option<&str>, wake: Key) {
        let id = (TypeId::of::<K>(), key.clone());
        let mut objects = self.lock();
        match (objects.get_mut(&id), version) {
            (None, _) => {}
            (Some(_), None) => drop(objects.remove(&id)),
            (Some(object), Some(version)) => {
                let own = object.expected.iter().position(|own| own == version);
                match own {
                    Some(at) => drop(object.expected.remove(at)),
                    // Ours from before will not come any more, as after a new list.
                    None => object.expected.retain(|own| later(own, version)),
                }
                if own.is_none() && object.under_way > 0 {
                    return object.held.push((version.to_owned(), wake));
                }
                if object.is_idle() {
                    objects.remove(&id);
                }
                if own.is_some() {
                    return;
                }
            }
        }
        drop(objects);
        self.queue.add(wake);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(TypeId, Key), Object>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write<'_> {
    /// Ends a write that made this resource version; `None` if it changed nothing.
    pub(crate) fn finish(self, version: Option<&str>) {
        let mut objects = self.writes.lock();
        let Some((object, version)) = objects.get_mut(&self.id).zip(version) else {
            return;
        };
        match object.held.iter().position(|(held, _)| held == version) {
            Some(at) => drop(object.held.remove(at)),
            None => object.expected.push(version.to_owned()),
        }
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mut objects = self.writes.lock();
        // Gone, if the object was deleted meanwhile.
        let Some(object) = objects.get_mut(&self.id) else {
            return;
        };
        object.under_way = object.under_way.saturating_sub(1);
        if object.under_way > 0 {
            return;
        }
        let held = std::mem::take(&mut object.held);
        if object.is_idle() {
            objects.remove(&self.id);
        }
        drop(objects);
        for (_, key) in held {
            self.writes.queue.add(key);
        }
    }
}

/// The objects as the controller last wrote them, until its cache has seen them.
pub(crate) struct Overlay<K>(Mutex<HashMap<Key, Arc<K>>>);

impl<K: Cached> Overlay<K> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Remembers what a write returned, unless the cache, which `cached` asks, has seen it already.
    pub(crate) fn set(&self, key: &Key, object: Arc<K>, cached: impl FnOnce() -> Option<Arc<K>>) {
        self.lock().insert(key.clone(), object);
        // Only now: the watch may be faster than the answer to the write, and it tells of a change once.
        self.seen(key, cached().as_deref());
    }

    /// Forgets what a watch has overtaken; `None`: the object is gone.
    pub(crate) fn seen(&self, key: &Key, seen: Option<&K>) {
        let mut objects = self.lock();
        let ahead = |own: &Arc<K>| seen.is_some_and(|seen| later(version(&**own), version(seen)));
        if objects.get(key).is_some_and(|own| !ahead(own)) {
            objects.remove(key);
        }
    }

    /// The later of what is cached and what was written.
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
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::timeout;

    use super::*;
    use crate::metrics::QueueMetrics;

    fn writes() -> Writes {
        Writes::new(Arc::new(Queue::new(QueueMetrics::default())))
    }

    fn comes(writes: &Writes, version: &str) {
        writes.wake::<ConfigMap>(&"ns/child".into(), Some(version), "ns/owner".into());
    }

    async fn woken(writes: &Writes) -> bool {
        let next = timeout(Duration::from_nanos(1), writes.queue.next()).await;
        next.map(|key| writes.queue.done(&key)).is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_change_of_another_wakes() {
        let writes = writes();
        comes(&writes, "1");
        assert!(woken(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_does_not_wake_and_the_next_does() {
        let writes = writes();
        writes
            .begin::<ConfigMap>(&"ns/child".into())
            .finish(Some("2"));
        comes(&writes, "2");
        assert!(!woken(&writes).await);
        assert!(writes.lock().is_empty());
        comes(&writes, "3");
        assert!(woken(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_overtakes_its_answer_does_not_wake() {
        let writes = writes();
        let write = writes.begin::<ConfigMap>(&"ns/child".into());
        comes(&writes, "2");
        assert!(!woken(&writes).await);
        write.finish(Some("2"));
        assert!(!woken(&writes).await);
        assert!(writes.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_comes_during_the_next_write_does_not_wake() {
        let writes = writes();
        writes
            .begin::<ConfigMap>(&"ns/child".into())
            .finish(Some("2"));
        let next = writes.begin::<ConfigMap>(&"ns/child".into());
        comes(&writes, "2");
        next.finish(Some("3"));
        comes(&writes, "3");
        assert!(!woken(&writes).await);
        assert!(writes.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_change_of_another_during_a_write_wakes_when_it_is_answered() {
        let writes = writes();
        let write = writes.begin::<ConfigMap>(&"ns/child".into());
        comes(&writes, "2");
        comes(&writes, "3");
        write.finish(Some("3"));
        assert!(woken(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_is_given_up_lets_all_changes_wake() {
        let writes = writes();
        let write = writes.begin::<ConfigMap>(&"ns/child".into());
        comes(&writes, "2");
        drop(write);
        assert!(woken(&writes).await);
        assert!(writes.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_always_wakes() {
        let writes = writes();
        writes
            .begin::<ConfigMap>(&"ns/child".into())
            .finish(Some("2"));
        writes.wake::<ConfigMap>(&"ns/child".into(), None, "ns/owner".into());
        assert!(woken(&writes).await);
        assert!(writes.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_a_new_list_jumped_over_is_forgotten() {
        let writes = writes();
        writes
            .begin::<ConfigMap>(&"ns/child".into())
            .finish(Some("2"));
        comes(&writes, "5");
        assert!(woken(&writes).await);
        assert!(writes.lock().is_empty());
    }

    fn object(version: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.resource_version = Some(version.to_owned());
        Arc::new(object)
    }

    #[test]
    fn the_overlay_lasts_until_the_cache_has_seen_it() {
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
