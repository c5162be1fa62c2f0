//! What a controller itself has written lately, so that it neither enqueues its own object nor works on what it has overwritten.

use std::{
    any::TypeId,
    collections::{HashMap, HashSet},
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::api::PartialObjectMeta;

use crate::{
    cache::object::{Cached, later, version},
    controller::queue::Queue,
    key::Key,
};

/// Tells a controller's own changes from those of others as they come back by a watch.
///
/// The watch may be faster than the answer to the write, so while a write is under way the changes of that object
/// are held back. A change of our own enqueues all objects that it concerns but the one whose reconcile made it.
pub(crate) struct Writes {
    queue: Arc<Queue>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The roles whose changes come by.
    followed: HashSet<TypeId>,
    objects: HashMap<(TypeId, Key), Object>,
}

#[derive(Default)]
struct Object {
    under_way: usize,
    /// Resource versions that came meanwhile, and whom they concern.
    held: Vec<(String, Vec<Key>)>,
    /// Resource versions of our writes that the watch has yet to bring, and whose reconcile made them.
    expected: Vec<(String, Key)>,
}

impl Object {
    /// Whether there is nothing to remember.
    fn is_idle(&self) -> bool {
        self.under_way == 0 && self.expected.is_empty()
    }
}

/// The roles of a kind, as one may have several and each sees a change by itself: it is the controller's own, its
/// objects are children, or they are watched.
pub(crate) struct Own<C>(PhantomData<C>);
pub(crate) struct Child<C>(PhantomData<C>);
pub(crate) struct Watched<C>(PhantomData<C>);

/// A write under way. Dropped without [`finish`](Self::finish), as at a time-out, it counts as having written nothing.
pub(crate) struct Write<'a> {
    writes: &'a Writes,
    key: Key,
    roles: Vec<TypeId>,
    writer: &'a Key,
}

impl Writes {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self {
            queue,
            state: Mutex::default(),
        }
    }

    /// Announces that [`seen`](Self::seen) is called for this role.
    pub(crate) fn follow(&self, role: TypeId) {
        self.lock().followed.insert(role);
    }

    /// Whether children of this kind come by.
    pub(crate) fn follows_children<C: 'static>(&self) -> bool {
        self.lock().followed.contains(&TypeId::of::<Child<C>>())
    }

    /// Announces a write to an object of `C`, by the reconcile of `writer`.
    pub(crate) fn begin<'a, C: 'static>(&'a self, key: &Key, writer: &'a Key) -> Write<'a> {
        let mut state = self.lock();
        let mut roles = vec![
            TypeId::of::<Own<C>>(),
            TypeId::of::<Child<C>>(),
            TypeId::of::<Watched<C>>(),
            TypeId::of::<Watched<PartialObjectMeta<C>>>(),
        ];
        roles.retain(|role| state.followed.contains(role));
        for role in &roles {
            let object = state.objects.entry((*role, key.clone())).or_default();
            object.under_way += 1;
        }
        Write {
            writes: self,
            key: key.clone(),
            roles,
            writer,
        }
    }

    /// Enqueues `keys`, because a watch brought this version of an object in this role; not for the
    /// one that wrote it. `None`: the object is gone.
    pub(crate) fn seen(&self, role: TypeId, key: &Key, version: Option<&str>, mut keys: Vec<Key>) {
        let id = (role, key.clone());
        let mut state = self.lock();
        match (state.objects.get_mut(&id), version) {
            (None, _) => {}
            (Some(_), None) => drop(state.objects.remove(&id)),
            (Some(object), Some(version)) => {
                let own = object.expected.iter().position(|(own, _)| own == version);
                match own {
                    Some(at) => {
                        let (_, writer) = object.expected.remove(at);
                        keys.retain(|key| *key != writer);
                    }
                    // Ours from before will not come any more, as after a new list.
                    None => object.expected.retain(|(own, _)| later(own, version)),
                }
                if own.is_none() && object.under_way > 0 {
                    return object.held.push((version.to_owned(), keys));
                }
                if object.is_idle() {
                    state.objects.remove(&id);
                }
            }
        }
        drop(state);
        self.enqueue(keys);
    }

    fn enqueue(&self, keys: Vec<Key>) {
        for key in keys {
            self.queue.add(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write<'_> {
    /// Ends a write that made this resource version; `None` if it changed nothing.
    pub(crate) fn finish(self, version: Option<&str>) {
        let Some(version) = version else { return };
        let mut keys = Vec::new();
        let mut state = self.writes.lock();
        for role in &self.roles {
            // Gone, if the object was deleted meanwhile.
            let Some(object) = state.objects.get_mut(&(*role, self.key.clone())) else {
                continue;
            };
            match object.held.iter().position(|(held, _)| held == version) {
                Some(at) => keys.extend(object.held.remove(at).1),
                None => object
                    .expected
                    .push((version.to_owned(), self.writer.clone())),
            }
        }
        drop(state);
        keys.retain(|key| key != self.writer);
        self.writes.enqueue(keys);
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mut keys = Vec::new();
        let mut state = self.writes.lock();
        for role in &self.roles {
            let id = (*role, self.key.clone());
            let Some(object) = state.objects.get_mut(&id) else {
                continue;
            };
            object.under_way = object.under_way.saturating_sub(1);
            if object.under_way > 0 {
                continue;
            }
            keys.extend(object.held.drain(..).flat_map(|(_, keys)| keys));
            if object.is_idle() {
                state.objects.remove(&id);
            }
        }
        drop(state);
        self.writes.enqueue(keys);
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
    use crate::{controller::timer::Timer, metrics::QueueMetrics};

    const CHILD: TypeId = TypeId::of::<Child<ConfigMap>>();

    fn writes() -> Writes {
        let writes = Writes::new(Arc::new(Queue::new(
            QueueMetrics::default(),
            Timer::default(),
        )));
        writes.follow(CHILD);
        writes
    }

    fn begin<'a>(writes: &'a Writes, by: &'a Key) -> Write<'a> {
        writes.begin::<ConfigMap>(&"ns/child".into(), by)
    }

    fn owner() -> Key {
        "ns/owner".into()
    }

    fn comes(writes: &Writes, version: &str) {
        writes.seen(CHILD, &"ns/child".into(), Some(version), vec![owner()]);
    }

    async fn enqueued(writes: &Writes) -> bool {
        let next = timeout(Duration::from_nanos(1), writes.queue.next()).await;
        next.map(|key| writes.queue.done(&key)).is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_change_of_another_is_enqueued() {
        let writes = writes();
        comes(&writes, "1");
        assert!(enqueued(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_is_not_enqueued_and_the_next_is() {
        let writes = writes();
        begin(&writes, &owner()).finish(Some("2"));
        comes(&writes, "2");
        assert!(!enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
        comes(&writes, "3");
        assert!(enqueued(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_overtakes_its_answer_is_not_enqueued() {
        let writes = writes();
        let owner = owner();
        let write = begin(&writes, &owner);
        comes(&writes, "2");
        assert!(!enqueued(&writes).await);
        write.finish(Some("2"));
        assert!(!enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_comes_during_the_next_write_is_not_enqueued() {
        let writes = writes();
        begin(&writes, &owner()).finish(Some("2"));
        let owner = owner();
        let next = begin(&writes, &owner);
        comes(&writes, "2");
        next.finish(Some("3"));
        comes(&writes, "3");
        assert!(!enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_change_of_another_during_a_write_is_enqueued_when_that_is_answered() {
        let writes = writes();
        let owner = owner();
        let write = begin(&writes, &owner);
        comes(&writes, "2");
        comes(&writes, "3");
        write.finish(Some("3"));
        assert!(enqueued(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_is_given_up_enqueues_all_changes() {
        let writes = writes();
        let owner = owner();
        let write = begin(&writes, &owner);
        comes(&writes, "2");
        drop(write);
        assert!(enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_enqueues_others_that_it_concerns() {
        for answered_first in [true, false] {
            let (writes, another) = (writes(), Key::from("ns/another"));
            let write = begin(&writes, &another);
            if answered_first {
                write.finish(Some("2"));
                comes(&writes, "2");
            } else {
                comes(&writes, "2");
                write.finish(Some("2"));
            }
            assert!(enqueued(&writes).await);
            assert!(writes.lock().objects.is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_what_does_not_come_by_nothing_is_remembered() {
        let writes = Writes::new(Arc::new(Queue::new(
            QueueMetrics::default(),
            Timer::default(),
        )));
        begin(&writes, &owner()).finish(Some("2"));
        assert!(writes.lock().objects.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_is_always_enqueued() {
        let writes = writes();
        begin(&writes, &owner()).finish(Some("2"));
        writes.seen(CHILD, &"ns/child".into(), None, vec![owner()]);
        assert!(enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_a_new_list_jumped_over_is_forgotten() {
        let writes = writes();
        begin(&writes, &owner()).finish(Some("2"));
        comes(&writes, "5");
        assert!(enqueued(&writes).await);
        assert!(writes.lock().objects.is_empty());
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
