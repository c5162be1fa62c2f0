//! The caches of a manager: finds them by kind, and starts and supervises them.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::BoxFuture;
use kube::{Client, api::PartialObjectMeta, core::PartialObjectMetaExt as _};
use tokio::task::JoinSet;

use crate::{
    cache::{
        fill::Follower, object::Cached, progress::CacheState, report::Reporter, shape::Shape,
        store::Cache,
    },
    key::Key,
    panics::unwound,
    spawn,
};

/// The caches of a manager, or the subset that one controller may read: one for each kind. The metadata of a kind
/// counts as a separate kind.
#[derive(Clone, Default)]
pub(crate) struct Caches(Arc<Mutex<Entries>>);

/// [`Caches`] that are not kept alive.
pub(crate) struct WeakCaches(Weak<Mutex<Entries>>);

/// They start in this order.
type Entries = BTreeMap<TypeId, Entry>;

#[derive(Clone)]
struct Entry {
    cache: Arc<dyn Any + Send + Sync>,
    runner: Arc<dyn Runner>,
}

/// The watches of a manager. Each returns why it ended, which should never happen.
pub(crate) type Watches = JoinSet<anyhow::Error>;

/// The caches of a kind: its objects, their metadata, or both.
#[derive(Debug)]
pub(crate) struct KindState {
    pub(crate) cache: CacheState,
    /// For how long changes may have been missed.
    pub(crate) age: Duration,
    /// The number of objects that cannot be read.
    pub(crate) unreadable: usize,
}

/// A cache of any kind, as the manager runs it.
trait Runner: Send + Sync {
    fn start(
        self: Arc<Self>,
        client: &Client,
        namespaces: &[String],
        reporter: &Reporter,
        watches: &mut Watches,
    );

    /// Publishes events about the objects that cannot be read.
    fn report(&self, reporter: &Reporter);

    /// Hides an object of this kind, as [`name`] returns it, that a controller has deleted.
    fn deleted(&self, kind: &str, key: &Key, uid: &str);

    /// Doubts that it has every change, until its watches have proved it.
    fn doubt(&self);

    /// The mistake of configuring it if nothing uses it.
    fn unused(&self) -> Option<String>;

    /// Waits until all objects have been listed once.
    fn complete(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Waits until all objects have been listed once, and the cache is not doubted.
    fn synced(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// The kind, such as `Deployment.apps`, and its state.
    fn state(&self) -> (String, KindState);
}

impl<K: Cached> Runner for Cache<K> {
    fn start(
        self: Arc<Self>,
        client: &Client,
        namespaces: &[String],
        reporter: &Reporter,
        watches: &mut Watches,
    ) {
        let cache = self.clone();
        let withdraw = async move { match cache.withdraw_old().await {} };
        spawn::watch(watches, Box::pin(withdraw));
        let shape = self.shape();
        let scopes = shape.scopes(namespaces);
        self.progress.start(scopes.len());
        for (place, namespace) in scopes.into_iter().enumerate() {
            let (cache, shape) = (self.clone(), shape.clone());
            let (client, reporter) = (client.clone(), reporter.clone());
            let watch = async move {
                let follower = Follower {
                    cache: &cache,
                    shape: &shape,
                    namespace: namespace.as_deref(),
                    place,
                    reporter: &reporter,
                };
                // A cache without a watch would show its controllers outdated objects.
                match unwound(follower.follow(client)).await {
                    Ok(()) => anyhow::anyhow!("the watch of {} ended", name::<K>()),
                    Err(panic) => anyhow::anyhow!("the watch of {} panicked: {panic}", name::<K>()),
                }
            };
            spawn::watch(watches, Box::pin(watch));
        }
    }

    fn report(&self, reporter: &Reporter) {
        for object in self.all_unreadable() {
            reporter.publish::<K>(&object);
        }
    }

    fn deleted(&self, kind: &str, key: &Key, uid: &str) {
        if kind == name::<K>() {
            Cache::deleted(self, key, uid);
        }
    }

    fn doubt(&self) {
        self.progress.doubt();
    }

    fn unused(&self) -> Option<String> {
        (!self.presence.is_used()).then(Shape::<K>::unused)
    }

    fn complete(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.progress.complete().await })
    }

    fn synced(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { Cache::synced(&self).await })
    }

    fn state(&self) -> (String, KindState) {
        let state = KindState {
            cache: self.progress.state(),
            age: self.progress.age(),
            unreadable: self.unreadable_count(),
        };
        (name::<K>(), state)
    }
}

/// The kind, such as `Deployment.apps`.
fn name<K: Cached>() -> String {
    match (K::kind(&()), K::group(&())) {
        (kind, group) if group.is_empty() => kind.into_owned(),
        (kind, group) => format!("{kind}.{group}"),
    }
}

impl Caches {
    /// The cache of `K`, created if it does not exist yet.
    pub(crate) fn of<K: Cached>(&self) -> Arc<Cache<K>> {
        if let Some(cache) = self.find() {
            return cache;
        }
        let cache = Arc::new(Cache::<K>::new());
        self.add(cache.clone());
        cache
    }

    /// Adds the cache of `K`.
    pub(crate) fn add<K: Cached>(&self, cache: Arc<Cache<K>>) {
        let entry = Entry {
            cache: cache.clone(),
            runner: cache,
        };
        self.lock().insert(TypeId::of::<K>(), entry);
    }

    /// The cache of `K`, if it exists.
    pub(crate) fn find<K: Cached>(&self) -> Option<Arc<Cache<K>>> {
        let cache = self.lock().get(&TypeId::of::<K>())?.cache.clone();
        cache.downcast().ok()
    }

    /// Shows readers the result of a write of a controller, until the watch delivers it. `namespaces` are those of the
    /// manager, empty for all.
    pub(crate) fn wrote<K: Cached>(&self, namespaces: &[String], key: &Key, object: &Arc<K>) {
        let here = key.namespace();
        if let Some(cache) = self.find::<K>()
            && cache.shape().watches(here, namespaces)
        {
            cache.wrote(key, object.clone());
        }
        if let Some(cache) = self.find::<PartialObjectMeta<K>>()
            && cache.shape().watches(here, namespaces)
        {
            let metadata = object.meta().clone().into_response_partial();
            cache.wrote(key, Arc::new(metadata));
        }
    }

    /// Hides a deleted object of `K`, and its metadata, from readers.
    pub(crate) fn deleted<K: Cached>(&self, key: &Key, uid: &str) {
        let kind = name::<K>();
        for cache in self.runners() {
            cache.deleted(&kind, key, uid);
        }
    }

    /// The mistakes of configuring caches that nothing uses.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut unused: Vec<_> = self
            .lock()
            .values()
            .filter_map(|entry| entry.runner.unused())
            .collect();
        unused.sort();
        unused
    }

    /// The cached kinds, and the state of each.
    pub(crate) fn states(&self) -> BTreeMap<String, KindState> {
        let mut kinds: BTreeMap<String, KindState> = BTreeMap::new();
        for entry in self.lock().values() {
            let (kind, mut state) = entry.runner.state();
            // The objects of a kind and their metadata are two caches of one kind.
            if let Some(other) = kinds.remove(&kind) {
                state.cache = state.cache.and(other.cache);
                state.age = state.age.max(other.age);
                state.unreadable += other.unreadable;
            }
            kinds.insert(kind, state);
        }
        kinds
    }

    /// The caches that are not in `others`.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let mut entries = self.lock().clone();
        let others = others.lock();
        entries.retain(|kind, _| !others.contains_key(kind));
        Self(Arc::new(Mutex::new(entries)))
    }

    /// Doubts that the caches have every change. Until their watches have proved it, [`synced`](Self::synced) waits.
    pub(crate) fn doubt(&self) {
        for entry in self.lock().values() {
            entry.runner.doubt();
        }
    }

    /// Waits until all objects of all kinds have been listed once.
    pub(crate) async fn complete(&self) {
        for runner in self.runners() {
            runner.complete().await;
        }
    }

    /// Waits until all objects of all kinds have been listed once, and no cache is doubted.
    pub(crate) async fn synced(&self) {
        for runner in self.runners() {
            runner.synced().await;
        }
    }

    fn runners(&self) -> Vec<Arc<dyn Runner>> {
        let entries = self.lock();
        entries.values().map(|entry| entry.runner.clone()).collect()
    }

    /// Starts all watches; they end when the returned value is dropped.
    pub(crate) fn start(
        &self,
        client: &Client,
        namespaces: &[String],
        reporter: &Reporter,
    ) -> Watches {
        let mut watches = JoinSet::new();
        for entry in self.lock().values() {
            let runner = entry.runner.clone();
            runner.start(client, namespaces, reporter, &mut watches);
        }
        watches
    }

    /// Publishes events about the objects that cannot be read, which were only logged before this process led.
    pub(crate) fn report(&self, reporter: &Reporter) {
        for entry in self.lock().values() {
            entry.runner.report(reporter);
        }
    }

    /// Why some caches have not synced after `waited`; `None` if all have.
    pub(crate) fn incomplete(&self, waited: Duration) -> Option<anyhow::Error> {
        let mut text = String::new();
        for (kind, state) in self.states() {
            let trouble = match state.cache {
                CacheState::Complete(_) | CacheState::Absent => continue,
                CacheState::Waiting | CacheState::Listing(None) => {
                    "the API server has not answered".to_owned()
                }
                CacheState::Doubted(None) => {
                    "the API server has not answered since this replica leads".to_owned()
                }
                CacheState::Listing(Some(trouble)) | CacheState::Doubted(Some(trouble)) => {
                    format!("{}\n    help: {}", trouble.cause, trouble.help)
                }
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  {kind}: {trouble}");
        }
        (!text.is_empty()).then(|| {
            anyhow::anyhow!(
                "some caches are not complete after {waited:?}, see `--cache-sync-timeout`:{text}"
            )
        })
    }

    pub(crate) fn downgrade(&self) -> WeakCaches {
        WeakCaches(Arc::downgrade(&self.0))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeakCaches {
    pub(crate) fn upgrade(&self) -> Option<Caches> {
        self.0.upgrade().map(Caches)
    }
}

/// Waits for a watch to end, and returns why. Never returns if there are no watches.
pub(crate) async fn first_end(watches: &mut Watches) -> anyhow::Error {
    match watches.join_next().await {
        Some(Ok(error)) => error,
        Some(Err(error)) => anyhow::anyhow!("a watch was cancelled: {error}"),
        None => std::future::pending().await,
    }
}
