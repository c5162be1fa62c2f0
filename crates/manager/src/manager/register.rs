//! Registers what the operator's author adds to the manager's own: metrics, checks, HTTP handlers, and migrations of stored objects.

use std::sync::Arc;

use hyper::{Request, Response, http::uri::PathAndQuery};
use prometheus_client::registry::Metric;

use crate::{
    cache::object::Cached,
    manager::Manager,
    migration::settings::StorageMigration,
    servers::{check::Check, handlers::OwnHandler},
};

impl Manager {
    /// Adds a metric of yours to `/metrics`: a counter, gauge or histogram of the crate
    /// [`prometheus_client`](crate::ext::prometheus_client), or a family of them with labels. Keep a clone, which shares the
    /// value.
    ///
    /// `name` begins with that of the operator, and ends with the unit, if there is one, as in `captains_wait_seconds`.
    /// That of a counter gets `_total`. `help` gets a full stop.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use manager::{Action, Manager};
    /// use manager::ext::prometheus_client::metrics::{counter::Counter, family::Family};
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

    /// Adds a check to `/healthz`: an error, with its reason, means that this process must be restarted. The reason is
    /// logged when it changes; the response to a probe is without it, because everyone can read that.
    ///
    /// It is a task of the operator's runtime, to which connections belong, and is cancelled after 800 ms, which counts
    /// as a failure. So it also fails while all threads of that runtime are busy for as long. It must not block: use
    /// `tokio::task::spawn_blocking` for that. Probes that arrive while it runs share its result.
    pub fn live_check<F, R>(&mut self, name: &str, check: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.health.add_live(name, Check::new(check));
    }

    /// Adds a check to `/readyz`: an error, with its reason, means that this replica must not receive requests.
    /// Otherwise it is like [`live_check`](Self::live_check).
    ///
    /// ```
    /// # use manager::Manager;
    /// # #[derive(Clone)] struct Database;
    /// # impl Database { async fn ping(&self) -> anyhow::Result<()> { Ok(()) } }
    /// fn register(manager: &mut Manager, database: Database) {
    ///     manager.ready_check("database", move || {
    ///         let database = database.clone();
    ///         async move { database.ping().await }
    ///     });
    /// }
    /// ```
    pub fn ready_check<F, R>(&mut self, name: &str, check: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.health.add_ready(name, Check::new(check));
    }

    /// Serves `path` by this handler, at the address of `/metrics` and with the same authorization: a client needs a
    /// token, and the permission for its method on the path, as in `nonResourceURLs: ["/debug/queue"]` with
    /// `verbs: ["get"]` of a `ClusterRole`. With `--metrics-secure=false`, everyone may call it. Nothing is served if
    /// `--metrics-bind-address` is `0`, the default.
    ///
    /// Every replica serves it. `path` is the whole path of a request, without its query. The handler gets requests of
    /// all methods, with bodies of up to 1 MiB, and without the token. The user who sent it is
    /// `request.extensions().get::<manager::User>()`, or `None` with `--metrics-secure=false`.
    ///
    /// If the handler fails or panics, the answer is HTTP 500 and the error is only logged; after 60 s, it is cancelled,
    /// and the answer is HTTP 504. If the client disconnects, it is cancelled at an `await`. It runs on the operator's
    /// runtime, which it must not block: use `tokio::task::spawn_blocking` for that.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Node;
    /// use manager::{Manager, ext::http::Response, kind};
    ///
    /// // +kbr:rbac:groups=core,resources=nodes,verbs=list;watch
    /// fn register(manager: &mut Manager) {
    ///     manager.reads(kind::<Node>());
    ///     let reader = manager.reader();
    ///     manager.serve("/debug/nodes", move |_request| {
    ///         let reader = reader.clone();
    ///         async move {
    ///             let nodes = reader.list::<Node>().keys()?;
    ///             Ok(Response::new(format!("{} nodes\n", nodes.len()).into_bytes()))
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// [`run`](Self::run) fails if the path is invalid or `/metrics`, or has two handlers.
    pub fn serve<F, R>(&mut self, path: &str, handler: F)
    where
        F: Fn(Request<Vec<u8>>) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<Response<Vec<u8>>>> + Send + 'static,
    {
        // The path of a request is percent-encoded.
        let parsed = path.parse::<PathAndQuery>();
        let is_path = path.starts_with('/') && parsed.is_ok_and(|parsed| parsed.path() == path);
        if !is_path || !path.is_ascii() || path.contains('*') {
            self.mistakes.push(format!(
                "`{path}` is not a path that can be served\n\
                 help: begin it with `/`, encode characters such as spaces, and leave out the query and `*`"
            ));
        }
        let handler: OwnHandler = Arc::new(move |request| Box::pin(handler(request)));
        let before = self.handlers.insert(path.to_owned(), handler);
        if path == "/metrics" || before.is_some() {
            self.mistakes.push(format!(
                "`{path}` has two handlers\n\
                 help: serve one of them at another path"
            ));
        }
    }

    /// Rewrites all objects of `K` in the leader whenever the stored version of its CRD has changed, and then removes
    /// the old versions from `status.storedVersions` of the CRD, so that a later CRD can drop them.
    ///
    /// `K` is any version of the kind that the API server serves. Nothing is written unless `storedVersions` names
    /// another version than the one that the CRD stores now.
    ///
    /// Where the API server has `StorageVersionMigration` (`storagemigration.k8s.io/v1`, on since Kubernetes 1.37), the
    /// task creates one and lets kube-controller-manager rewrite the objects. It rewrites them itself, page by page, if
    /// the API server has none, if nothing works on it within a minute, if it fails, and if you set a
    /// [`rate`](StorageMigration::rate). An object is rewritten by a patch without changes, which never undoes the
    /// write of another client. Objects that were written since the migration began are skipped. The progress is in a
    /// condition of the CRD, so a restart continues it. An object that the API server rejects is logged and tried
    /// again; the old version stays in `storedVersions` until all are rewritten.
    ///
    /// Does nothing in an operator that watches only some namespaces, unless the kind is cluster-scoped.
    ///
    /// Needs `get` on the CRD and `patch` on its status, `list` and `patch` on `K`, and for a
    /// `StorageVersionMigration` `create`, `get` and `delete`:
    ///
    /// ```text
    /// // +kbr:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=captains.crew.example.com,verbs=get
    /// // +kbr:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=captains.crew.example.com,verbs=patch
    /// // +kbr:rbac:groups=crew.example.com,resources=captains,verbs=list;patch
    /// // +kbr:rbac:groups=storagemigration.k8s.io,resources=storageversionmigrations,verbs=create;get;delete
    /// ```
    pub fn migrate_storage<K: Cached>(&mut self) -> &mut StorageMigration {
        self.migrations.push(StorageMigration::of::<K>());
        let last = self.migrations.len() - 1;
        &mut self.migrations[last]
    }
}
