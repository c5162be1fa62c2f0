//! A controller as registered so far, and the kinds that it needs.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use crate::{
    cache::{
        object::{Cached, Object},
        presence::Handler,
        reader::Reader,
        store::Cache,
    },
    controller::{
        predicate::Filter,
        queue::Queue,
        reconcile::Function,
        source::{self, Hook, Source},
        watched::WatchedKind,
    },
    key::Key,
    manager::Manager,
    writes::{applied::Applied, condition::Accessor, own::OwnWrites},
};

/// The predicates on a kind, to which the registration may still add.
pub(super) type Predicates<W> = Rc<RefCell<Filter<W>>>;

/// The controller as registered so far.
pub(super) struct Parts<'a, K> {
    pub(super) manager: &'a mut Manager,
    pub(super) name: String,
    pub(super) queue: Arc<Queue>,
    pub(super) writes: Arc<OwnWrites>,
    pub(super) applied: Arc<Applied>,
    pub(super) cache: Arc<Cache<K>>,
    pub(super) reader: Reader,
    /// The predicates on `K`.
    pub(super) own: Predicates<K>,
    pub(super) is_optional: bool,
    /// Makes the kind optional that was named last, for the deprecated `optional`.
    pub(super) last: Option<Box<dyn FnOnce(Handler)>>,
    /// Attaches what enqueues objects to the caches of all kinds, with the predicates of each.
    pub(super) hooks: Vec<Box<dyn FnOnce()>>,
    pub(super) conditions: Option<Accessor<K>>,
    pub(super) automatic_ready: bool,
    pub(super) finalizer: Option<(String, Function<K>)>,
    pub(super) concurrency: usize,
    pub(super) timeout: Duration,
    pub(super) resync: Option<Duration>,
    pub(super) sources: Vec<Source>,
}

impl<K: Object> Parts<'_, K> {
    /// Sets where the conditions are.
    pub(super) fn set_conditions(&mut self, accessor: Accessor<K>) {
        if self.conditions.replace(accessor).is_some() {
            self.manager.mistakes.push(format!(
                "controller `{}` names the conditions twice\n\
                 help: keep one of `.conditions(…)` and `.conditions_only(…)`",
                self.name,
            ));
        }
    }

    /// Enqueues the owner when a `C` changes. `M` is `C` or its metadata.
    pub(super) fn children<C: Object, M: Cached>(&mut self, kind: WatchedKind<M>) -> Predicates<M> {
        let cache = self.manager.caches.of::<M>();
        let hook =
            source::owner::<K, C, M>(cache.clone(), self.applied.clone(), self.queue.clone());
        self.watch(&cache, hook, kind)
    }

    /// Enqueues what `map` returns when a `C` changes.
    pub(super) fn mapped<C: Cached>(
        &mut self,
        map: impl Fn(&C, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
        kind: WatchedKind<C>,
    ) -> Predicates<C> {
        let cache = self.manager.caches.of::<C>();
        let hook = source::mapped(cache.clone(), &self.reader, self.queue.clone(), map);
        self.watch(&cache, hook, kind)
    }

    fn watch<M: Cached>(
        &mut self,
        cache: &Arc<Cache<M>>,
        hook: Hook<M>,
        kind: WatchedKind<M>,
    ) -> Predicates<M> {
        self.need(cache);
        if kind.is_optional {
            cache.presence.set_optional(self.enqueues_all());
        }
        let filter = Rc::new(RefCell::new(kind.filter));
        self.hook(hook, &filter);
        filter
    }

    /// Lets the hook enqueue objects from the end of the registration on, by the predicates that there are by then.
    pub(super) fn hook<M: Cached>(&mut self, hook: Hook<M>, filter: &Predicates<M>) {
        let filter = filter.clone();
        self.hooks
            .push(Box::new(move || hook.attach(filter.take())));
    }

    /// Lets the controller read `cache`, and start only once `cache` has synced.
    pub(super) fn need<M: Cached>(&mut self, cache: &Arc<Cache<M>>) {
        cache.presence.set_used();
        let last = cache.clone();
        self.last = Some(Box::new(move |changed| last.presence.set_optional(changed)));
        if self.reader.caches.find::<M>().is_none() {
            self.reader.caches.add(cache.clone());
            self.sources.push(Source::new(cache.clone()));
        }
    }
}
