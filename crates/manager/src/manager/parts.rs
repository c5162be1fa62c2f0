//! A controller as registered so far, and the kinds that it needs.

use std::{sync::Arc, time::Duration};

use crate::{
    cache::{
        object::{Cached, Object},
        presence::Handler,
        reader::Reader,
        store::Cache,
    },
    causes::CauseKind,
    controller::{
        kind::Kind,
        predicate::Filter,
        reconcile::Function,
        source::{self, Hook},
    },
    controls::Controls,
    guard::Guard,
    key::Key,
    manager::Manager,
    queue::Queue,
    writes::{applied::Applied, condition::Accessor, core::Source, own::OwnWrites},
};

/// The controller as registered so far.
pub(super) struct Parts<'a, K> {
    pub(super) manager: &'a mut Manager,
    pub(super) name: String,
    pub(super) queue: Arc<Queue>,
    pub(super) writes: Arc<OwnWrites>,
    pub(super) guard: Arc<Guard>,
    pub(super) applied: Arc<Applied>,
    pub(super) cache: Arc<Cache<K>>,
    pub(super) reader: Reader,
    /// The predicates on `K`.
    pub(super) own: Filter<K>,
    pub(super) controls: Controls<K>,
    pub(super) is_optional: bool,
    /// Attaches what enqueues objects to the caches of other kinds, once the registration ends.
    pub(super) hooks: Vec<Box<dyn FnOnce()>>,
    pub(super) conditions: Option<Accessor<K>>,
    pub(super) automatic_ready: bool,
    pub(super) finalizers: Vec<(String, Function<K>)>,
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

    /// Enqueues the owner when a `C` changes.
    pub(super) fn children<C: Object, M: Cached>(&mut self, kind: Kind<C, M>) {
        let cache = self.manager.caches.of::<M>();
        let hook =
            source::owner::<K, C, M>(cache.clone(), self.applied.clone(), self.guard.clone());
        self.watch(&cache, hook, kind);
    }

    /// Enqueues what `map` returns when a `C` changes.
    pub(super) fn mapped<C, M: Cached>(
        &mut self,
        kind: Kind<C, M>,
        map: impl Fn(&M, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
    ) {
        let cache = self.manager.caches.of::<M>();
        let hook = source::mapped(cache.clone(), &self.reader, self.guard.clone(), map);
        self.watch(&cache, hook, kind);
    }

    fn watch<C, M: Cached>(&mut self, cache: &Arc<Cache<M>>, hook: Hook<M>, kind: Kind<C, M>) {
        self.read(cache, kind.is_optional);
        self.hooks.push(Box::new(move || hook.attach(kind.filter)));
    }

    /// Lets the controller read `cache`, whose kind may be missing.
    pub(super) fn read<M: Cached>(&mut self, cache: &Arc<Cache<M>>, is_optional: bool) {
        self.need(cache);
        if is_optional {
            cache.presence.set_optional(self.enqueues_all());
        }
    }

    /// Lets the controller read `cache`, and start only once `cache` has synced.
    pub(super) fn need<M: Cached>(&mut self, cache: &Arc<Cache<M>>) {
        cache.presence.set_used();
        if self.reader.caches.find::<M>().is_none() {
            self.reader.caches.add(cache.clone());
            self.sources.push(Source::new(cache.clone()));
        }
    }

    /// Enqueues all objects of the controller, whenever a kind is installed or removed.
    pub(super) fn enqueues_all(&self) -> Handler {
        // A cache holds its handlers, so a handler must not keep the cache alive.
        let (cache, queue) = (Arc::downgrade(&self.cache), self.queue.clone());
        Box::new(move || {
            if let Some(cache) = cache.upgrade() {
                queue.add_all(cache.keys(), &CauseKind::Installed.into());
            }
        })
    }
}
