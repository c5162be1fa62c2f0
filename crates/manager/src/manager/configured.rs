//! What a registration says of its own kind, and of how often the controller reconciles.

use std::time::Duration;

use crate::{cache::object::Object, manager::controller::Controller};

impl<K: Object> Controller<'_, K> {
    /// Lets the controller's own kind be missing, as [`Kind::optional`](crate::Kind::optional) lets
    /// another: the operator starts without it, and the controller reconciles its objects once its CRD is installed.
    pub fn optional(mut self) -> Self {
        let parts = &mut self.parts;
        if !parts.is_optional {
            parts.is_optional = true;
            parts.cache.presence.set_optional(parts.enqueues_all());
        }
        self
    }

    /// Reconciles at most this many objects at once, instead of `--max-concurrent-reconciles`. If it is 2 or more, and the
    /// objects of one namespace hold up those of another, it is one more. With 1, it is always one at a time.
    pub fn max_concurrent_reconciles(mut self, most: usize) -> Self {
        self.parts.concurrency = most;
        self
    }

    /// Cancels a reconcile after this duration, instead of `--reconcile-timeout`.
    pub fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.parts.timeout = timeout;
        self
    }

    /// Waits at least this long between the end of a reconcile of an object and its next one. What happens meanwhile is
    /// one reconcile at the end of that time, and nothing is lost. Without this, an object is reconciled as often as
    /// something happens.
    ///
    /// A deletion does not wait, nor does a user who pauses or resumes the object or sets `reconcile-at`. Retries and
    /// requeues do. Use it where reconciles are expensive and events come in bursts, as from Pods.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<ConfigMap>("configmap")
    ///     .pace(Duration::from_secs(5))
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    pub fn pace(self, least: Duration) -> Self {
        self.parts.queue.set_pace(least);
        self
    }

    /// Retries an object that failed after `first`, doubled after each further failure up to `longest`; without this,
    /// after 5 ms up to 1,000 s. Each object backs off by itself, and a success resets its back-off.
    ///
    /// A long first delay protects a slow service, and a short longest one recovers sooner when the service is back. It
    /// also applies to [`Action::requeue`](crate::Action::requeue) with `Duration::ZERO`. For single errors see
    /// [`terminal`](crate::terminal) and [`retry_after`](crate::retry_after).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<ConfigMap>("configmap")
    ///     .backoff(Duration::from_secs(1), Duration::from_secs(60))
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Manager::run`](crate::Manager::run) fails if `first` is zero, or longer than `longest`.
    pub fn backoff(self, first: Duration, longest: Duration) -> Self {
        if first.is_zero() || first > longest {
            let name = &self.parts.name;
            self.parts.manager.mistakes.push(format!(
                "controller `{name}` cannot back off from {first:?} to {longest:?}\n\
                 help: `backoff` needs a first delay above zero, and a longest one that is not shorter"
            ));
        }
        self.parts.queue.set_backoff(first, longest);
        self
    }

    /// Also reconciles each object periodically: at the latest `period` after its last reconcile, and at the earliest
    /// after half of that. The time between is random for each object and each time, so that many objects do not come
    /// at once.
    ///
    /// A controller does not need this to see changes in the cluster: none is lost. Use it for what no watch reports,
    /// such as the state of an account at a cloud provider. It reads no list from the API server; the object comes from
    /// the cache. An object that also failed terminally, or that asked for a later requeue, is reconciled then, too. To
    /// reconcile only some objects periodically, return [`Action::requeue`](crate::Action::requeue) for these.
    ///
    /// It is controller-runtime's `SyncPeriod`, for one controller.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use manager::{Action, Manager};
    /// # fn register(manager: &mut Manager) {
    /// manager
    ///     .controller::<ConfigMap>("configmap")
    ///     .resync(Duration::from_secs(10 * 3600))
    ///     .reconcile(async |_, _| Ok(Action::await_change()));
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Manager::run`](crate::Manager::run) fails if `period` is shorter than a second.
    pub fn resync(mut self, period: Duration) -> Self {
        if period < Duration::from_secs(1) {
            let name = &self.parts.name;
            self.parts.manager.mistakes.push(format!(
                "controller `{name}` would reconcile every object every {period:?}\n\
                 help: give `resync` a period of at least a second; hours are usual"
            ));
        }
        self.parts.resync = Some(period);
        self
    }
}
