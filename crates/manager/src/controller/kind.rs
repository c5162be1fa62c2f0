//! What a controller says of another kind: what of its objects is cached, which updates matter, and whether it may be missing.

use std::{fmt, marker::PhantomData};

use kube::api::PartialObjectMeta;

use crate::{cache::object::Cached, controller::predicate::Filter};

/// The objects of `C`, which are cached whole.
///
/// ```
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use manager::{Action, Manager, kind, metadata, predicate};
///
/// fn register(manager: &mut Manager) {
///     manager
///         .controller::<Deployment>("deployment")
///         .owns(kind::<ConfigMap>().when(predicate::labels_changed).optional())
///         .reconcile(async |_, _| Ok(Action::await_change()));
/// }
/// ```
pub fn kind<C: Cached>() -> Kind<C> {
    Kind::new()
}

/// The objects of `C`, of which only the metadata is cached. Use it for large objects whose content no reconcile reads.
pub fn metadata<C: Cached>() -> Kind<C, PartialObjectMeta<C>> {
    Kind::new()
}

/// A kind that a controller owns, watches or reads: [`kind`] or [`metadata`]. `M` is what is cached of the objects of `C`.
#[must_use = "pass it to `owns`, `watches` or `reads`"]
pub struct Kind<C, M = C> {
    pub(crate) filter: Filter<M>,
    pub(crate) is_optional: bool,
    of: PhantomData<fn() -> C>,
}

impl<C, M> fmt::Debug for Kind<C, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind")
            .field("is_optional", &self.is_optional)
            .finish_non_exhaustive()
    }
}

impl<C, M> Kind<C, M> {
    fn new() -> Self {
        Self {
            filter: Filter::default(),
            is_optional: false,
            of: PhantomData,
        }
    }

    /// Whether a kind that is only read may be missing, and the mistake of a predicate, which has no effect then.
    pub(crate) fn read_only(self) -> (bool, Option<String>)
    where
        C: Cached,
    {
        let mistake = format!(
            "`.reads(kind::<{0}>().when(…))`: the kind is only read, so no update of it triggers anything\n\
             help: leave `.when(…)` out, or watch the kind",
            C::kind(&())
        );
        let has_effect = self.filter.is_empty();
        (self.is_optional, (!has_effect).then_some(mistake))
    }

    /// Reconciles on an update of an object of this kind only if `predicate` returns true. It is called with the object
    /// before and after the update; see [`predicate`](crate::predicate). If there are several, all must return true.
    ///
    /// It is not called when an object is first seen, is deleted or gets a deletion timestamp: these always trigger a
    /// reconcile.
    pub fn when<P>(mut self, predicate: P) -> Self
    where
        P: Fn(&M, &M) -> bool + Send + Sync + 'static,
    {
        self.filter.add(predicate);
        self
    }

    /// Lets the kind be missing. Use it for a kind of another project, whose CRD may be installed later or never.
    ///
    /// While the API server does not serve the kind, its cache is empty: [`Context::get`](crate::Context::get) returns
    /// `None`, and [`Context::list`](crate::Context::list) nothing;
    /// [`Context::is_installed`](crate::Context::is_installed) tells that from a kind without objects. To apply an object
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
    /// # use manager::{Action, Manager, kind};
    /// # fn monitor() -> ServiceMonitor { ServiceMonitor::default() }
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<Deployment>("deployment")
    ///     .owns(kind::<ServiceMonitor>().optional())
    ///     .reconcile(async |_, cx| {
    ///         if cx.is_installed::<ServiceMonitor>()? {
    ///             cx.apply(&monitor()).await?;
    ///         }
    ///         Ok(Action::await_change())
    ///     });
    /// # }
    /// ```
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }
}
