//! Distinguishes a controller's own writes of status and finalizers from the changes of others, so that they trigger no
//! reconcile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    cache::{
        object::{Cached, Object, later, version},
        store::Change,
    },
    causes::{CauseKind, Causes, Changed},
    controls::Control,
    guard::{Event, Guard, fields::between},
    key::Key,
    queue::{Haste, Priority, Queue},
};

/// The recent writes of a controller to the objects that it reconciles.
///
/// Each write is made to one version of the object, by a precondition, so a pair of resource versions identifies it. An
/// update from the watch is our own only if it goes from the one version to the other. An update that skips a version
/// may hide the writes of others in between.
///
/// The watch may be faster than the response to the write, so updates of an object are held back while a write to it is
/// in progress.
pub(crate) struct OwnWrites {
    guard: Arc<Guard>,
    objects: Mutex<HashMap<Key, Recent>>,
}

#[derive(Default)]
struct Recent {
    under_way: bool,
    /// Updates that the watch delivered meanwhile, each with why it matters, if it does.
    held: Vec<(Update, Option<Reason>)>,
    /// Our writes that the watch has not delivered yet.
    expected: Vec<Update>,
}

impl Recent {
    /// Whether the entry can be removed.
    fn is_idle(&self) -> bool {
        !self.under_way && self.expected.is_empty()
    }

    /// Whether a change is our own, or must wait for the write in progress.
    fn explains<K: Cached>(&mut self, change: &Change<'_, K>, reason: Option<&Reason>) -> bool {
        let update = Update::of(change);
        let own = update
            .as_ref()
            .is_some_and(|update| self.expected.contains(update));
        // An expected update that is not later was skipped, for example by a new list, and will never arrive.
        let now = change.new.map(version);
        self.expected
            .retain(|own| now.is_some_and(|now| later(&own.to, now)));
        match update {
            Some(update) if self.under_way && !own => {
                self.held.push((update, reason.cloned()));
                true
            }
            _ => own,
        }
    }
}

/// Why an object is enqueued.
#[derive(Clone)]
struct Reason {
    causes: Causes,
    priority: Priority,
    haste: Haste,
}

impl Reason {
    fn of<K: Object>(guard: &Guard, change: &Change<'_, K>, control: Option<Control>) -> Self {
        let changed = Changed::of(change);
        let mut causes = if change.initial {
            CauseKind::Start.into()
        } else {
            Causes::own(changed)
        };
        if control == Some(Control::Poke) {
            if changed.is_annotations() {
                causes = Causes::default();
            }
            causes.merge(&CauseKind::Poke.into());
        }
        let is_urgent = changed.is_deletion() || control.is_some();
        Self {
            causes,
            priority: Priority::of(change),
            haste: if is_urgent {
                guard.progress(change.key);
                Haste::AtOnce
            } else {
                let event = Event::of(&guard.kind, change, changed);
                guard.seen(change.key, &event, || between(change.old?, change.new?))
            },
        }
    }

    fn enqueue(&self, queue: &Queue, key: &Key) {
        queue.add_with(key.clone(), self.priority, &self.causes, self.haste);
    }
}

/// The resource versions of an object before and after an update.
#[derive(PartialEq)]
struct Update {
    from: String,
    to: String,
}

impl Update {
    fn new(from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        Self { from, to }
    }

    /// The update of a change; `None` if a write of status or finalizers cannot have caused it.
    fn of<K: Cached>(change: &Change<'_, K>) -> Option<Self> {
        let (old, new) = (change.old?, change.new?);
        let same = old.meta().generation == new.meta().generation;
        same.then(|| Self::new(version(old), version(new)))
    }
}

/// A write in progress. If it is dropped without [`finish`](Self::finish), for example at a time-out, it counts as if
/// it had written nothing.
pub(crate) struct Write<'a> {
    writes: &'a OwnWrites,
    key: &'a Key,
}

impl OwnWrites {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self {
            guard,
            objects: Mutex::default(),
        }
    }

    /// Announces a write of the status or the finalizers of an object.
    pub(crate) fn begin<'a>(&'a self, key: &'a Key) -> Write<'a> {
        let mut objects = self.lock();
        objects.entry(key.clone()).or_default().under_way = true;
        Write { writes: self, key }
    }

    /// Enqueues the object if its change `matters`, or is one of the annotations that users control it by, and is not our
    /// own.
    pub(crate) fn seen<K: Object>(
        &self,
        change: &Change<'_, K>,
        matters: bool,
        control: Option<Control>,
    ) {
        let matters = matters || control.is_some();
        // A change that is our own is not new. Another one is, also if nothing is enqueued.
        let reason = matters.then(|| Reason::of(&self.guard, change, control));
        let mut objects = self.lock();
        let mut explained = false;
        if let Some(recent) = objects.get_mut(change.key) {
            explained = recent.explains(change, reason.as_ref());
            if recent.is_idle() {
                objects.remove(change.key);
            }
        }
        drop(objects);
        if let Some(reason) = reason.filter(|_| !explained) {
            reason.enqueue(&self.guard.queue, change.key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Recent>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write<'_> {
    /// Ends a write to the version `from` of the object, which resulted in the version `to`.
    pub(crate) fn finish(self, from: &str, to: &str) {
        if from == to {
            return;
        }
        let own = Update::new(from, to);
        let mut objects = self.writes.lock();
        // `begin` created it, and nothing removes it while a write is in progress.
        let Some(recent) = objects.get_mut(self.key) else {
            return;
        };
        match recent.held.iter().position(|(held, _)| *held == own) {
            Some(at) => drop(recent.held.remove(at)),
            None => recent.expected.push(own),
        }
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mut objects = self.writes.lock();
        let Some(recent) = objects.get_mut(self.key) else {
            return;
        };
        recent.under_way = false;
        let held = std::mem::take(&mut recent.held);
        if recent.is_idle() {
            objects.remove(self.key);
        }
        drop(objects);
        for reason in held.into_iter().filter_map(|(_, reason)| reason) {
            reason.enqueue(&self.writes.guard.queue, self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::timeout;

    use super::*;
    use crate::{guard::Mode, metrics::QueueMetrics, timer::Timer};

    const KEY: &str = "ns/object";

    fn writes() -> OwnWrites {
        let queue = Queue::new(QueueMetrics::default(), Timer::for_tests());
        queue.open();
        let (kind, timer) = ("ConfigMap".into(), Timer::for_tests());
        OwnWrites::new(Arc::new(Guard::new(
            Mode::Off,
            kind,
            Arc::new(queue),
            timer,
        )))
    }

    fn object(version: &str, generation: i64) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.resource_version = Some(version.to_owned());
        object.metadata.generation = Some(generation);
        object
    }

    /// The watch delivers an update; version `0` means that the object does not exist.
    fn comes(writes: &OwnWrites, from: &str, to: &str) {
        update(writes, from, to, true);
    }

    fn update(writes: &OwnWrites, from: &str, to: &str, matters: bool) {
        let at = |version: &str| (version != "0").then(|| object(version, 1));
        let (key, old, new) = (KEY.into(), at(from), at(to));
        let change = Change {
            key: &key,
            old: old.as_ref(),
            new: new.as_ref(),
            unreadable: None,
            initial: false,
        };
        writes.seen(&change, matters, None);
    }

    async fn enqueued(writes: &OwnWrites) -> bool {
        let next = timeout(Duration::from_nanos(1), writes.guard.queue.next()).await;
        next.map(|key| writes.guard.queue.done(&key)).is_ok()
    }

    fn is_idle(writes: &OwnWrites) -> bool {
        writes.lock().is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_by_another_writer_is_enqueued() {
        let writes = writes();
        comes(&writes, "0", "1");
        assert!(enqueued(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_is_not_enqueued_but_the_next_change_is() {
        let writes = writes();
        writes.begin(&KEY.into()).finish("1", "2");
        comes(&writes, "1", "2");
        assert!(!enqueued(&writes).await);
        assert!(is_idle(&writes));
        comes(&writes, "2", "3");
        assert!(enqueued(&writes).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_overtakes_its_response_is_not_enqueued() {
        let (writes, key) = (writes(), KEY.into());
        let write = writes.begin(&key);
        comes(&writes, "1", "2");
        assert!(!enqueued(&writes).await);
        write.finish("1", "2");
        assert!(!enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_seen_during_the_next_write_is_not_enqueued() {
        let (writes, key) = (writes(), KEY.into());
        writes.begin(&key).finish("1", "2");
        let next = writes.begin(&key);
        comes(&writes, "1", "2");
        next.finish("2", "3");
        comes(&writes, "2", "3");
        assert!(!enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_by_another_writer_during_a_write_is_enqueued_afterwards() {
        let (writes, key) = (writes(), KEY.into());
        let write = writes.begin(&key);
        comes(&writes, "1", "2");
        comes(&writes, "2", "3");
        assert!(!enqueued(&writes).await);
        write.finish("2", "3");
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_listed_together_with_another_writers_is_enqueued() {
        for answered_first in [true, false] {
            let (writes, key) = (writes(), KEY.into());
            let write = writes.begin(&key);
            // The other writer wrote version 2, which the watch has not delivered. Our write was made to that version.
            if answered_first {
                write.finish("2", "3");
                comes(&writes, "1", "3");
            } else {
                comes(&writes, "1", "3");
                write.finish("2", "3");
            }
            assert!(enqueued(&writes).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_of_the_generation_is_always_enqueued() {
        let (writes, key) = (writes(), KEY.into());
        writes.begin(&key).finish("1", "2");
        let (old, new) = (object("1", 1), object("2", 2));
        let change = Change {
            key: &key,
            old: Some(&old),
            new: Some(&new),
            unreadable: None,
            initial: false,
        };
        writes.seen(&change, true, None);
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_effect_hides_no_other_change() {
        let (writes, key) = (writes(), KEY.into());
        let write = writes.begin(&key);
        comes(&writes, "1", "2");
        write.finish("2", "2");
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_write_enqueues_all_changes() {
        let (writes, key) = (writes(), KEY.into());
        let write = writes.begin(&key);
        comes(&writes, "1", "2");
        drop(write);
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_is_always_enqueued() {
        let writes = writes();
        writes.begin(&KEY.into()).finish("1", "2");
        comes(&writes, "1", "0");
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_change_that_a_new_list_skipped_is_forgotten() {
        let writes = writes();
        writes.begin(&KEY.into()).finish("1", "2");
        comes(&writes, "1", "5");
        assert!(enqueued(&writes).await);
        assert!(is_idle(&writes));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_dropped_by_a_predicate_is_not_enqueued() {
        let (writes, key) = (writes(), KEY.into());
        let write = writes.begin(&key);
        update(&writes, "1", "2", false);
        write.finish("1", "2");
        assert!(is_idle(&writes));
        let write = writes.begin(&key);
        update(&writes, "2", "3", false);
        write.finish("3", "4");
        update(&writes, "3", "4", false);
        assert!(is_idle(&writes));
        assert!(!enqueued(&writes).await);
    }
}
