//! `when` and `optional` about the kind that was named last, as they were before 0.3.0.

use crate::{
    cache::object::{Cached, Object},
    controller::registration::{Controller, Later},
};

impl<K: Object, W: Cached> Controller<'_, K, W, Later> {
    /// Reconciles on an update of the kind that was owned or watched last only if `predicate` returns true.
    #[deprecated(
        since = "0.3.0",
        note = "for the kind before it, write `.owns_with::<C>(|kind| kind.when(…))`, or likewise `owns_cached_with` or `watches_with`; \
                for the controller's own kind, write `.when(…)` right after `.controller(…)`"
    )]
    pub fn when<P>(self, predicate: P) -> Self
    where
        P: Fn(&W, &W) -> bool + Send + Sync + 'static,
    {
        self.filter.borrow_mut().add(predicate);
        self
    }

    /// Lets the kind be missing that the call before this names.
    #[deprecated(
        since = "0.3.0",
        note = "write `.owns_with::<C>(|kind| kind.optional())`, or likewise `owns_cached_with`, `watches_with` or `.reads_optional::<C>()`; \
                for the controller's own kind, write `.optional()` right after `.controller(…)`"
    )]
    pub fn optional(mut self) -> Self {
        if let Some(set_optional) = self.parts.last.take() {
            set_optional(self.parts.enqueues_all());
        }
        self
    }
}
