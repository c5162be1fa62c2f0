//! What triggers reconciles: how a change of an object becomes keys in a queue.

use std::{any::TypeId, sync::Arc};

use futures_util::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    cache::{
        object::{Cached, Object, namespaced, version},
        reader::Reader,
        store::{Cache, Change},
    },
    controller::{predicate::Filter, queue::Queue},
    error::caught,
    key::Key,
    writes::{
        applied::Applied,
        own::{Child, Overlay, Own, Watched, Writes},
    },
};

/// A kind that a controller needs, whether it triggers reconciles or is only read.
pub(crate) struct Source {
    pub(crate) kind: String,
    /// Waits until its cache is complete.
    pub(crate) synced: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Source {
    pub(crate) fn new<M: Cached>(cache: Arc<Cache<M>>) -> Self {
        let synced = move || {
            let cache = cache.clone();
            Box::pin(async move { cache.synced().await }) as _
        };
        Self {
            kind: M::kind(&()).into_owned(),
            synced: Box::new(synced),
        }
    }
}

type Note<M> = Box<dyn Fn(&Change<'_, M>) + Send + Sync>;
type Keys<M> = Box<dyn Fn(&Change<'_, M>) -> Vec<Key> + Send + Sync>;

/// How the changes in a cache enqueue keys of a controller.
pub(crate) struct Hook<M> {
    pub(crate) cache: Arc<Cache<M>>,
    /// Tells one role of a kind from another, as `Writes` does.
    role: TypeId,
    /// Sees every change.
    note: Note<M>,
    /// Says whom a change concerns.
    keys: Keys<M>,
}

impl<M: Cached> Hook<M> {
    /// Puts it to work.
    pub(crate) fn attach(self, filter: Filter<M>, writes: Arc<Writes>) {
        let Self {
            cache,
            role,
            note,
            keys,
        } = self;
        writes.follow(role);
        cache.on_change(move |change| {
            note(change);
            let keys = if filter.passes(change) {
                keys(change)
            } else {
                Vec::new()
            };
            writes.seen(role, change.key, change.new.map(version), keys);
        });
    }
}

/// Enqueues the objects of the controller's own kind.
pub(crate) fn own<K: Object>(cache: Arc<Cache<K>>, overlay: Arc<Overlay<K>>) -> Hook<K> {
    Hook {
        cache,
        role: TypeId::of::<Own<K>>(),
        note: Box::new(move |change| overlay.seen(change.key, change.new)),
        keys: Box::new(|change| vec![change.key.clone()]),
    }
}

/// Enqueues the `K` that owns what changes in `cache`, which holds objects of `C` or their metadata.
pub(crate) fn owner<K: Object, C: Object, M: Cached>(
    cache: Arc<Cache<M>>,
    applied: Arc<Applied>,
    queue: Arc<Queue>,
) -> Hook<M> {
    let owners = |change: &Change<'_, M>| {
        let before = change.old.and_then(|old| owner_of::<K>(old.meta()));
        let after = change.new.and_then(|new| owner_of::<K>(new.meta()));
        (before, after)
    };
    Hook {
        cache,
        role: TypeId::of::<Child<C>>(),
        note: Box::new(move |change| {
            if change.new.is_none() {
                applied.forget::<C>(change.key);
            }
            // A child that was given away concerns the owner that lost it, whatever else is to be said of it.
            let (before, after) = owners(change);
            if let Some(before) = before.filter(|before| Some(before) != after.as_ref()) {
                queue.add(before);
            }
        }),
        keys: Box::new(move |change| owners(change).1.into_iter().collect()),
    }
}

/// Enqueues the keys that `map` makes of what changes in `cache`, of the object before and after.
pub(crate) fn mapped<C: Cached>(
    cache: Arc<Cache<C>>,
    reader: &Reader,
    map: impl Fn(&C, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
) -> Hook<C> {
    // A cache holds what is hooked to it, so this must not hold the cache.
    let reader = reader.downgrade();
    let keys = move |change: &Change<'_, C>| {
        let Some(reader) = reader.upgrade() else {
            return Vec::new();
        };
        let mut keys = Vec::new();
        for object in change.old.into_iter().chain(change.new) {
            match caught("a mapping", change.key, || map(object, &reader)) {
                Some(Ok(found)) => keys.extend(found),
                Some(Err(error)) => {
                    let (kind, key) = (C::kind(&()), change.key);
                    tracing::error!(error = format!("{error:#}"), %kind, %key, "cannot map an object");
                }
                None => {}
            }
        }
        keys.sort();
        keys.dedup();
        keys
    };
    Hook {
        cache,
        role: TypeId::of::<Watched<C>>(),
        note: Box::new(|_| {}),
        keys: Box::new(keys),
    }
}

/// The key of the `K` that controls the object with this metadata.
fn owner_of<K: Object>(meta: &ObjectMeta) -> Option<Key> {
    let owners = meta.owner_references.as_deref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    // The version may be another one of the same kind.
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let ours = owner.kind == K::kind(&()) && group == K::group(&());
    let namespace = meta.namespace.as_deref().filter(|_| namespaced::<K>());
    ours.then(|| Key::new(namespace, &owner.name))
}
