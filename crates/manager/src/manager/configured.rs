//! The kinds that a controller names together with what it says of them.

use kube::api::PartialObjectMeta;

use crate::{
    cache::{
        object::{Cached, Object},
        reader::Reader,
    },
    controller::watched::WatchedKind,
    key::Key,
    manager::controller::Controller,
};

impl<K: Object> Controller<'_, K> {
    /// Like [`owns`](Self::owns); `configure` says which updates of the `C` objects matter, and whether the kind may be
    /// missing.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use manager::{Action, Manager, predicate};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .owns_with::<ConfigMap>(|kind| kind.when(predicate::labels_changed).optional())
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    pub fn owns_with<C: Object>(
        mut self,
        configure: impl FnOnce(WatchedKind<PartialObjectMeta<C>>) -> WatchedKind<PartialObjectMeta<C>>,
    ) -> Self {
        self.parts.children::<C, _>(configure(WatchedKind::new()));
        self
    }

    /// Like [`owns_cached`](Self::owns_cached); `configure` says which updates of the `C` objects matter, and whether the
    /// kind may be missing.
    pub fn owns_cached_with<C: Object>(
        mut self,
        configure: impl FnOnce(WatchedKind<C>) -> WatchedKind<C>,
    ) -> Self {
        self.parts.children::<C, _>(configure(WatchedKind::new()));
        self
    }

    /// Like [`watches`](Self::watches); `configure` says which updates of the `C` objects matter, and whether the kind
    /// may be missing.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .watches_with::<ConfigMap>(
    ///         |_, cached| cached.list::<Deployment>().keys(),
    ///         |kind| kind.when(|old, new| old.data != new.data),
    ///     )
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    pub fn watches_with<C: Cached>(
        mut self,
        map: impl Fn(&C, &Reader) -> anyhow::Result<Vec<Key>> + Send + Sync + 'static,
        configure: impl FnOnce(WatchedKind<C>) -> WatchedKind<C>,
    ) -> Self {
        self.parts.mapped(map, configure(WatchedKind::new()));
        self
    }

    /// Like [`reads`](Self::reads), for a kind that may be missing: see [`WatchedKind::optional`].
    pub fn reads_optional<C: Cached>(mut self) -> Self {
        let cache = self.parts.manager.caches.of::<C>();
        self.parts.need(&cache);
        cache.presence.set_optional(self.parts.enqueues_all());
        self
    }

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
