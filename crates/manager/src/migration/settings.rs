//! The settings of a storage migration.

use std::time::Duration;

use kube::api::ApiResource;

use crate::cache::object::{Cached, namespaced};

/// How long API servers may still write the old version after a change of the CRD: they notice the change by a watch,
/// and complete requests that they began before; those take up to 60 s (`--request-timeout` of kube-apiserver).
const GRACE: Duration = Duration::from_secs(60);

/// How many objects are rewritten in a second.
const RATE: u32 = 20;

/// The settings of a storage migration.
#[derive(Clone, Debug)]
pub struct StorageMigration {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    rate: Option<u32>,
    grace: Duration,
}

impl StorageMigration {
    /// The default settings for `K`.
    pub(crate) fn of<K: Cached>() -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            namespaced: namespaced::<K>(),
            rate: None,
            grace: GRACE,
        }
    }

    /// Rewrites at most this many objects in a second; 20 if not set, and at least 1.
    ///
    /// kube-controller-manager has no such setting, so the operator then rewrites the objects itself.
    pub fn rate(&mut self, objects_per_second: u32) -> &mut Self {
        self.rate = Some(objects_per_second.max(1));
        self
    }

    /// Begins this long after a change of the CRD; 60 s if not set.
    ///
    /// It must be longer than any API server may still write the old version: until it has noticed the change, and has
    /// completed the requests that began before.
    pub fn grace(&mut self, grace: Duration) -> &mut Self {
        self.grace = grace;
        self
    }

    /// The time between two rewritten objects. A little longer than the rate demands, because a request that is delayed
    /// on its way arrives closer to the next one.
    pub(super) fn period(&self) -> Duration {
        Duration::from_millis(1020) / self.rate.unwrap_or(RATE)
    }

    /// Whether kube-controller-manager may do it.
    pub(super) fn may_delegate(&self) -> bool {
        self.rate.is_none()
    }

    pub(super) fn grace_period(&self) -> Duration {
        self.grace
    }

    /// The name of the CRD.
    pub(super) fn crd(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    /// `Captain.crew.example.com`, as in metrics.
    pub(crate) fn kind(&self) -> String {
        format!("{}.{}", self.resource.kind, self.resource.group)
    }
}
