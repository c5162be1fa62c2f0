//! One store a kind, filled by watches and shared by all controllers.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak},
};

use futures_util::StreamExt;
use kube::{
    Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    cache::{
        index::{IndexBy, Indexes},
        object::{Cached, Scope, namespaced, version},
        stripped::Stripped,
    },
    key::Key,
};

/// One change of an object in a cache.
pub(crate) struct Change<'a, K> {
    pub(crate) key: &'a Key,
    /// The object as it was; `None` when it is new.
    pub(crate) old: Option<&'a K>,
    /// The object as it is; `None` when it is gone.
    pub(crate) new: Option<&'a K>,
}

type Handler<K> = Box<dyn Fn(&Change<'_, K>) + Send + Sync>;

/// The objects of one kind.
pub(crate) struct Cache<K> {
    state: RwLock<State<K>>,
    /// Filled while controllers are registered, fixed from then on.
    handlers: RwLock<Vec<Handler<K>>>,
    /// How many watches have yet to list their objects for the first time; `None` before they start.
    missing: watch::Sender<Option<usize>>,
}

struct State<K> {
    objects: HashMap<Key, Arc<K>>,
    indexes: Indexes<K>,
}

impl<K: Cached> Cache<K> {
    fn new() -> Self {
        let state = State {
            objects: HashMap::new(),
            indexes: Indexes::new(),
        };
        Self {
            state: RwLock::new(state),
            handlers: RwLock::default(),
            missing: watch::Sender::new(None),
        }
    }

    /// The object, if there is one.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// The keys of all objects, in no order.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read().objects.keys().cloned().collect()
    }

    /// All objects, in no order.
    pub(crate) fn all(&self) -> Vec<(Key, Arc<K>)> {
        let state = self.read();
        let objects = state.objects.iter();
        objects
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    /// The objects of which `values` names this value.
    pub(crate) fn indexed(&self, values: IndexBy<K>, value: &str) -> Vec<(Key, Arc<K>)> {
        if let Some(found) = self.read().indexed(values, value) {
            return found;
        }
        let mut state = self.write();
        // Another may have made the index meanwhile.
        if let Some(found) = state.indexed(values, value) {
            return found;
        }
        let State { objects, indexes } = &mut *state;
        indexes.add(values, objects.iter().map(|(key, object)| (key, &**object)));
        state.indexed(values, value).unwrap_or_default()
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
        // The sender lives in `self`, so it cannot be gone.
        let _ = self
            .missing
            .subscribe()
            .wait_for(|missing| *missing == Some(0))
            .await;
    }

    fn set(&self, key: &Key, object: &K) {
        // A copy has no spare capacity, which what was parsed has: of a list of one, room for four.
        let object = Arc::new(object.clone());
        let old = {
            let mut state = self.write();
            let old = state.objects.insert(key.clone(), object.clone());
            state.indexes.change(key, old.as_deref(), Some(&object));
            old
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
            });
        }
    }

    fn remove(&self, key: &Key) {
        let old = {
            let mut state = self.write();
            let old = state.objects.remove(key);
            state.indexes.change(key, old.as_deref(), None);
            old
        };
        if let Some(old) = old {
            self.tell(&Change {
                key,
                old: Some(&old),
                new: None,
            });
        }
    }

    /// Removes what a complete list of `namespace`, or of all, did not hold.
    fn retain(&self, namespace: Option<&str>, listed: &HashSet<Key>) {
        let gone: Vec<_> = {
            let state = self.read();
            let here = |key: &&Key| namespace.is_none() || key.namespace() == namespace;
            let gone = state
                .objects
                .keys()
                .filter(here)
                .filter(|key| !listed.contains(*key));
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

    /// Follows the objects of one namespace, or of all, until dropped.
    async fn follow(&self, client: Client, namespace: Option<&str>) {
        let api = <K::Scope as Scope>::api::<Stripped<K>>(client, namespace);
        let mut events = watcher(api, watcher::Config::default())
            .default_backoff()
            .boxed();
        let (mut listed, mut first) = (HashSet::new(), true);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(Stripped(object))) => {
                    let key = Key::of(&object);
                    listed.insert(key.clone());
                    self.set(&key, &object);
                }
                Ok(Event::InitDone) => {
                    self.retain(namespace, &listed);
                    // Its memory is given back; it is needed again after the next list only.
                    listed = HashSet::new();
                    if std::mem::take(&mut first) {
                        self.missing
                            .send_modify(|missing| *missing = missing.map(|n| n - 1));
                    }
                }
                Ok(Event::Apply(Stripped(object))) => self.set(&Key::of(&object), &object),
                Ok(Event::Delete(Stripped(object))) => self.remove(&Key::of(&object)),
                Err(error) => warn(&K::kind(&()), &error),
            }
        }
    }
}

impl<K> State<K> {
    /// `None` if there is no such index yet.
    fn indexed(&self, values: IndexBy<K>, value: &str) -> Option<Vec<(Key, Arc<K>)>> {
        let keys = self.indexes.find(values, value)?.into_iter();
        let found = keys.filter_map(|key| {
            let object = self.objects.get(&key)?.clone();
            Some((key, object))
        });
        Some(found.collect())
    }
}

/// Logs why a watch failed. It goes on by itself, after a pause.
fn warn(kind: &str, error: &watcher::Error) {
    let error = crate::error::chain(error);
    let help = if error.contains("404") || error.contains("NotFound") {
        "is its CustomResourceDefinition installed?"
    } else if error.contains("403") || error.contains("orbidden") {
        "may this service account `list` and `watch` it?"
    } else {
        "the watch is tried again"
    };
    tracing::warn!(kind, error, help, "cannot watch");
}

/// What is watched: each namespace, or `None` for all.
fn scopes<K: Cached>(namespaces: &[String]) -> Vec<Option<&str>> {
    if namespaces.is_empty() || !namespaced::<K>() {
        return vec![None];
    }
    namespaces
        .iter()
        .map(|namespace| Some(namespace.as_str()))
        .collect()
}

/// The caches of a manager, or those of them that one controller may read: one a kind. The metadata of a kind counts as
/// a kind of its own.
#[derive(Clone, Default)]
pub(crate) struct Caches(Arc<Mutex<Entries>>);

/// [`Caches`] that it does not keep alive.
pub(crate) struct WeakCaches(Weak<Mutex<Entries>>);

type Entries = HashMap<TypeId, Entry>;

struct Entry {
    cache: Arc<dyn Any + Send + Sync>,
    runner: Arc<dyn Runner>,
}

/// A cache of any kind, as the manager runs it.
trait Runner: Send + Sync {
    fn start(self: Arc<Self>, client: &Client, namespaces: &[String], tasks: &mut JoinSet<()>);

    /// The kind, such as `Deployment.apps`, and whether all its objects have been listed once.
    fn is_synced(&self) -> (String, bool);
}

impl<K: Cached> Runner for Cache<K> {
    fn start(self: Arc<Self>, client: &Client, namespaces: &[String], tasks: &mut JoinSet<()>) {
        let scopes = scopes::<K>(namespaces);
        self.missing.send_replace(Some(scopes.len()));
        for namespace in scopes {
            let (cache, client) = (self.clone(), client.clone());
            let namespace = namespace.map(str::to_owned);
            tasks.spawn(async move { cache.follow(client, namespace.as_deref()).await });
        }
    }

    fn is_synced(&self) -> (String, bool) {
        let name = match (K::kind(&()), K::group(&())) {
            (kind, group) if group.is_empty() => kind.into_owned(),
            (kind, group) => format!("{kind}.{group}"),
        };
        (name, *self.missing.borrow() == Some(0))
    }
}

impl Caches {
    /// The cache of `K`, made if there is none yet.
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

    /// The cache of `K`, if there is one.
    pub(crate) fn find<K: Cached>(&self) -> Option<Arc<Cache<K>>> {
        let cache = self.lock().get(&TypeId::of::<K>())?.cache.clone();
        cache.downcast().ok()
    }

    /// The kinds that are cached, and whether each is complete: all its objects have been listed once.
    pub(crate) fn synced(&self) -> BTreeMap<String, bool> {
        let mut kinds = BTreeMap::new();
        for entry in self.lock().values() {
            let (kind, synced) = entry.runner.is_synced();
            // Objects and the metadata of such are caches of one kind.
            *kinds.entry(kind).or_insert(true) &= synced;
        }
        kinds
    }

    /// Starts all watches; they end when `tasks` is dropped.
    pub(crate) fn start(&self, client: &Client, namespaces: &[String], tasks: &mut JoinSet<()>) {
        for entry in self.lock().values() {
            entry.runner.clone().start(client, namespaces, tasks);
        }
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
            sender.send(format!("{} {old} {new}", change.key)).unwrap();
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

    #[test]
    fn namespaces_are_watched_each_by_itself_and_of_kinds_without_all() {
        let namespaces = ["a".to_owned(), "b".to_owned()];
        assert_eq!(scopes::<ConfigMap>(&namespaces), [Some("a"), Some("b")]);
        assert_eq!(scopes::<ConfigMap>(&[]), [None]);
        let all = scopes::<k8s_openapi::api::core::v1::Namespace>(&namespaces);
        assert_eq!(all, [None]);
    }
}
