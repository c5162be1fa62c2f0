//! Kinds that the API server may not serve: those of a CRD that is installed later, or not at all.
//!
//! The watch of a cache notices by the request for its list, which is answered with 404 until the kind is served. That
//! needs no permission for CRDs or discovery, and it is right for each version of a kind by itself.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
};

pub(crate) type Handler = Box<dyn Fn() + Send + Sync>;

/// How many controllers use a cache, whether they need its kind, and what happens when that is installed or removed.
#[derive(Default)]
pub(crate) struct Presence {
    uses: AtomicUsize,
    optional_uses: AtomicUsize,
    handlers: RwLock<Vec<Handler>>,
}

impl Presence {
    /// Announces that a controller needs the kind.
    pub(crate) fn set_used(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_used(&self) -> bool {
        self.uses.load(Ordering::Relaxed) > 0
    }

    /// Lets the kind be missing for one of its uses, and calls `changed` whenever it is installed or removed.
    pub(crate) fn set_optional(&self, changed: Handler) {
        self.optional_uses.fetch_add(1, Ordering::Relaxed);
        let mut handlers = self
            .handlers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        handlers.push(changed);
    }

    /// Whether the kind may be missing, for all of its uses.
    pub(super) fn is_optional(&self) -> bool {
        let uses = self.uses.load(Ordering::Relaxed);
        uses > 0 && self.optional_uses.load(Ordering::Relaxed) >= uses
    }

    /// Calls the handlers after the kind was installed or removed.
    pub(super) fn changed(&self) {
        let handlers = self.handlers.read().unwrap_or_else(PoisonError::into_inner);
        handlers.iter().for_each(|handler| handler());
    }
}
