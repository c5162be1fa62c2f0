//! Kinds that may be missing.

use std::sync::Arc;

use crate::{
    cache::object::{Cached, Object},
    controller::{context::Context, registration::Controller},
};

impl<K: Object, W: Cached> Controller<'_, K, W> {
    /// Lets the kind be missing that the call before this names: the controller's own, or one that it owns, watches or
    /// reads. Use it for a kind of another project, whose CRD may be installed later or never.
    ///
    /// While the API server does not serve the kind, its cache is empty: [`Context::get`] returns `None`, and
    /// [`Context::list`] nothing; [`Context::is_installed`] tells that from a kind without objects. To apply an object
    /// of it fails. The controller starts and reconciles without it, readiness and `--cache-sync-timeout` do not depend
    /// on it, and a line in the log reports it once.
    ///
    /// When the CRD is installed, the kind is watched within 30 s; when it is removed, the watch ends and its objects
    /// leave the cache. All objects of the controller are reconciled in both cases. No other kind is affected.
    ///
    /// If several controllers use the kind, or one names it several times, it may only be missing if each says so.
    /// Needs no permission besides those for the kind.
    ///
    /// ```
    /// # use k8s_openapi::api::apps::v1::{DaemonSet as ServiceMonitor, Deployment};
    /// # use manager::{Action, Manager};
    /// # fn monitor() -> ServiceMonitor { ServiceMonitor::default() }
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .owns::<ServiceMonitor>()
    ///     .optional()
    ///     .reconcile(async |_, cx| {
    ///         if cx.is_installed::<ServiceMonitor>()? {
    ///             cx.apply(&monitor()).await?;
    ///         }
    ///         Ok(Action::await_change())
    ///     });
    /// # }
    /// ```
    pub fn optional(mut self) -> Self {
        let parts = &mut self.parts;
        if let Some(set_optional) = parts.last.take() {
            // A cache holds its handlers, so a handler must not keep the cache alive.
            let (cache, queue) = (Arc::downgrade(&parts.cache), parts.queue.clone());
            set_optional(Box::new(move || {
                if let Some(cache) = cache.upgrade() {
                    queue.add_all(cache.keys());
                }
            }));
        }
        self
    }
}

impl<K: Object> Context<K> {
    /// Whether the API server serves the kind `C`, for a kind that may be missing: see
    /// [`Controller::optional`](crate::Controller::optional). It is `true` once all its objects have been listed.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn is_installed<C: Cached>(&self) -> anyhow::Result<bool> {
        self.core.reader.is_installed::<C>()
    }
}
