//! Kinds that the API server may not serve: those of a CRD that is installed later, or not at all.
//!
//! A follower notices by the request for the list, which is answered with 404 until the kind is served. That needs no
//! permission for CRDs or discovery, and it is right for each version of a kind by itself.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
};

use crate::cache::{object::Cached, store::Cache};

type Handler = Box<dyn Fn() + Send + Sync>;

/// Who uses a cache, and what happens when its kind is installed or removed.
#[derive(Default)]
pub(super) struct Presence {
    uses: AtomicUsize,
    optional_uses: AtomicUsize,
    handlers: RwLock<Vec<Handler>>,
}

impl<K: Cached> Cache<K> {
    /// Announces that a controller needs it.
    pub(crate) fn set_used(&self) {
        self.presence.uses.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_used(&self) -> bool {
        self.presence.uses.load(Ordering::Relaxed) > 0
    }

    /// Lets the kind be missing for one of its uses, and calls `changed` whenever it is installed or removed.
    pub(crate) fn set_optional(&self, changed: impl Fn() + Send + Sync + 'static) {
        self.presence.optional_uses.fetch_add(1, Ordering::Relaxed);
        let handlers = self.presence.handlers.write();
        let mut handlers = handlers.unwrap_or_else(PoisonError::into_inner);
        handlers.push(Box::new(changed));
    }

    /// Whether the kind may be missing, for all of its uses.
    pub(crate) fn is_optional(&self) -> bool {
        let Presence {
            uses,
            optional_uses,
            ..
        } = &self.presence;
        optional_uses.load(Ordering::Relaxed) >= uses.load(Ordering::Relaxed).max(1)
    }

    /// Whether the kind is missing, or its objects have not all been listed since it was installed. Until then the
    /// cache reads as empty, because a reconcile could not tell a part of the objects from all of them.
    pub(crate) fn is_absent(&self) -> bool {
        self.is_optional() && self.progress.is_absent()
    }

    /// Calls the handlers after the kind was installed or removed.
    pub(super) fn presence_changed(&self) {
        let handlers = self.presence.handlers.read();
        let handlers = handlers.unwrap_or_else(PoisonError::into_inner);
        handlers.iter().for_each(|handler| handler());
    }
}

/// What [`Cache::set_optional`] does to a cache of any kind.
pub(crate) type SetOptional = Box<dyn FnOnce(Handler)>;

pub(crate) fn set_optional<K: Cached>(cache: Arc<Cache<K>>) -> SetOptional {
    Box::new(move |changed| cache.set_optional(changed))
}
