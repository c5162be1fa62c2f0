//! The triggers of reconciles: turns a change of an object into keys in a queue.

use std::{any::Any, collections::BTreeSet, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::{
    cache::{
        object::{Cached, Object, namespaced},
        reader::Reader,
        store::{Cache, Change},
    },
    causes::{CauseKind, Causes, Changed},
    controller::predicate::Filter,
    controls::Controls,
    error::chain,
    guard::{Event, Guard, fields::between},
    key::Key,
    panics::caught,
    queue::Priority,
    writes::{applied::Applied, own::OwnWrites},
};

/// Receives every change in a cache, and whether it passed the predicates.
type Handler<M> = Box<dyn Fn(&Change<'_, M>, bool) + Send + Sync>;

/// Turns the changes in a cache into keys of a controller.
pub(crate) struct Hook<M> {
    pub(crate) cache: Arc<Cache<M>>,
    handler: Handler<M>,
}

impl<M: Cached> Hook<M> {
    /// Attaches the hook to its cache.
    pub(crate) fn attach(self, filter: Filter<M>) {
        let Self { cache, handler } = self;
        cache.on_change(move |change| handler(change, filter.passes(change)));
    }
}

/// Enqueues the objects of the controller's own kind.
pub(crate) fn own<K: Object>(
    cache: Arc<Cache<K>>,
    controls: Arc<Controls<K>>,
    writes: Arc<OwnWrites>,
) -> Hook<K> {
    let handler = move |change: &Change<'_, K>, passes| {
        writes.seen(change, passes, controls.of_change(change));
    };
    Hook {
        cache,
        handler: Box::new(handler),
    }
}

/// Enqueues the `K` that owns a changed object in `cache`, which holds objects of `C` or their metadata. It does not
/// matter who changed the object.
pub(crate) fn owner<K: Object, C: Object, M: Cached>(
    cache: Arc<Cache<M>>,
    applied: Arc<Applied>,
    guard: Arc<Guard>,
) -> Hook<M> {
    applied.follow::<C>();
    let kind: Arc<str> = C::kind(&()).into();
    let handler = move |change: &Change<'_, M>, passes| {
        if change.new.is_none() {
            applied.forget::<C>(change.key);
        }
        let before = change.old.and_then(|old| owner_of::<K>(old.meta()));
        // An owner can repair an unreadable child, and create a deleted one again.
        let meta = change.new.map(Resource::meta).or(change.unreadable);
        let after = meta.and_then(owner_of::<K>);
        // If a child changes its owner, the earlier owner is always reconciled, too.
        let before = before.filter(|before| Some(before) != after.as_ref());
        let owners = before.into_iter().chain(after.filter(|_| passes));
        // Metadata alone is not compared.
        let whole = |object: Option<&'_ M>| (object? as &dyn Any).downcast_ref::<C>().cloned();
        let fields = || between(&whole(change.old)?, &whole(change.new)?);
        enqueue(&guard, &kind, owners, change, Causes::child, fields);
    };
    Hook {
        cache,
        handler: Box::new(handler),
    }
}

/// Enqueues the keys that `map` returns for a changed object in `cache`, before and after the change.
pub(crate) fn mapped<C: Cached>(
    cache: Arc<Cache<C>>,
    reader: &Reader,
    guard: Arc<Guard>,
    map: impl Fn(&C, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
) -> Hook<C> {
    // A cache holds its hooks, so a hook must not keep the cache alive.
    let reader = reader.downgrade();
    let name: Arc<str> = C::kind(&()).into();
    let handler = move |change: &Change<'_, C>, passes: bool| {
        let Some(reader) = reader.upgrade().filter(|_| passes) else {
            return;
        };
        let mut keys = Vec::new();
        for object in change.old.into_iter().chain(change.new) {
            // The text of its error is code of the author, too.
            let map = || map(object, &reader).map_err(|error| chain(error.as_ref()));
            let (kind, key) = (C::kind(&()), change.key);
            match caught(map) {
                Ok(Ok(found)) => keys.extend(found),
                Ok(Err(error)) => tracing::error!(error, %kind, %key, "cannot map an object"),
                Err(panic) => tracing::error!(panic, %kind, %key, "a mapping panicked"),
            }
        }
        keys.sort();
        keys.dedup();
        enqueue(&guard, &name, keys, change, Causes::watched, || None);
    };
    Hook {
        cache,
        handler: Box::new(handler),
    }
}

/// Enqueues keys for a change of another object of this kind. `fields` are those that have changed, if that can be known.
fn enqueue<M: Cached>(
    guard: &Guard,
    kind: &Arc<str>,
    keys: impl IntoIterator<Item = Key>,
    change: &Change<'_, M>,
    causes: impl Fn(&Arc<str>, &Key, Changed) -> Causes,
    fields: impl Fn() -> Option<BTreeSet<String>>,
) {
    let mut keys = keys.into_iter().peekable();
    if keys.peek().is_none() {
        return;
    }
    let changed = Changed::of(change);
    let causes = if change.initial {
        CauseKind::Start.into()
    } else {
        causes(kind, change.key, changed)
    };
    let event = Event::of(kind, change, changed);
    for key in keys {
        let haste = guard.seen(&key, &event, &fields);
        let queue = &guard.queue;
        queue.add_with(key, Priority::of(change), &causes, haste);
    }
}

/// The key of the `K` that is the controller owner of the object with this metadata.
fn owner_of<K: Object>(meta: &ObjectMeta) -> Option<Key> {
    let owners = meta.owner_references.as_deref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    // The reference may name another version of the same kind.
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let ours = owner.kind == K::kind(&()) && group == K::group(&());
    let namespace = meta.namespace.as_deref().filter(|_| namespaced::<K>());
    ours.then(|| Key::new(namespace, &owner.name))
}
