//! Kinds that may be missing.

use std::sync::Arc;

use crate::{
    cache::{
        object::{Cached, Object},
        presence::Handler,
    },
    controller::{context::Context, parts::Parts, registration::Controller},
};

impl<K: Object> Controller<'_, K> {
    /// Lets the controller's own kind be missing, as [`WatchedKind::optional`](crate::WatchedKind::optional) lets
    /// another: the operator starts without it, and the controller reconciles its objects once its CRD is installed.
    pub fn optional(mut self) -> Self {
        let parts = &mut self.parts;
        if !parts.is_optional {
            parts.is_optional = true;
            parts.cache.presence.set_optional(parts.enqueues_all());
        }
        self
    }
}

impl<K: Object> Parts<'_, K> {
    /// Enqueues all objects of the controller, whenever a kind is installed or removed.
    pub(super) fn enqueues_all(&self) -> Handler {
        // A cache holds its handlers, so a handler must not keep the cache alive.
        let (cache, queue) = (Arc::downgrade(&self.cache), self.queue.clone());
        Box::new(move || {
            if let Some(cache) = cache.upgrade() {
                queue.add_all(cache.keys());
            }
        })
    }
}

impl<K: Object> Context<K> {
    /// Whether the API server serves the kind `C`, for a kind that may be missing: see
    /// [`WatchedKind::optional`](crate::WatchedKind::optional). It is `true` once all its objects have been listed.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn is_installed<C: Cached>(&self) -> anyhow::Result<bool> {
        self.core.reader.is_installed::<C>()
    }
}
