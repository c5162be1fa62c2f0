//! Registers the metrics of the operator's author.

use prometheus_client::registry::Metric;

use crate::manager::Manager;

impl Manager {
    /// Adds a metric of yours to `/metrics`: a counter, gauge or histogram of the crate
    /// [`prometheus_client`](crate::prometheus_client), or a family of them with labels. Keep a clone, which shares the
    /// value.
    ///
    /// `name` begins with that of the operator, and ends with the unit, if there is one, as in `captains_wait_seconds`.
    /// That of a counter gets `_total`. `help` gets a full stop.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use manager::{Action, Manager};
    /// use manager::prometheus_client::metrics::{counter::Counter, family::Family};
    ///
    /// type ByPort = Family<[(&'static str, String); 1], Counter>;
    ///
    /// fn register(manager: &mut Manager) {
    ///     let arrivals = ByPort::default();
    ///     manager.metric("captains_arrivals", "Ships that have arrived", arrivals.clone());
    ///     manager.controller::<ConfigMap>("harbor").reconcile(move |map, _| {
    ///         let port = map.metadata.name.clone().unwrap_or_default();
    ///         arrivals.get_or_create(&[("port", port)]).inc();
    ///         async { Ok(Action::await_change()) }
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// [`run`](Self::run) fails if the name is invalid, is registered twice, or begins like those of the manager
    /// (`controller_runtime_`, `workqueue_`, `rest_client_`, `leader_election_`, `certwatcher_`, `process_`,
    /// `manager_`); or if Prometheus' text format has no such type (info, unknown).
    pub fn metric(&mut self, name: &str, help: &str, metric: impl Metric) {
        if let Err(mistake) = self.metrics.own().register(name, help, metric) {
            self.mistakes.push(mistake);
        }
    }
}
