//! The manager, and what can be registered with it.

use std::{fmt, sync::Arc};

use kube::Client;

use crate::{
    cache::{caches::Caches, report::Reporter},
    connect::Clients,
    controller::{timer::Timer, worker::AnyController},
    events::{Publisher, Recorder},
    leader::fence::Fence,
    logs,
    metrics::Metrics,
    options::Options,
    servers::probes::Health,
    task::{Running, Task},
    webhook::{Conversions, Webhooks},
};

/// Runs controllers, and what every operator needs beside them: leader election, metrics, probes, an orderly end.
pub struct Manager {
    pub(crate) options: Options,
    pub(crate) id: String,
    pub(crate) clients: Clients,
    pub(crate) fence: Fence,
    pub(crate) caches: Caches,
    pub(crate) metrics: Metrics,
    pub(crate) health: Health,
    pub(crate) timer: Timer,
    pub(crate) recorder: Recorder,
    pub(crate) publisher: Publisher,
    pub(crate) controllers: Vec<Arc<dyn AnyController>>,
    pub(crate) webhooks: Webhooks,
    pub(crate) conversions: Conversions,
    /// What was registered wrongly; reported all at once by [`run`](Self::run).
    pub(crate) mistakes: Vec<String>,
    pub(crate) identity: String,
    pub(crate) leading: Vec<Task>,
    pub(crate) always: Vec<Task>,
    /// Whether the process is ended by force when it does not end by itself; that of a test must go on.
    pub(crate) watchdog: bool,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Manager {
    /// A manager that is connected as the flags say, and logs.
    ///
    /// `id` tells this operator from all others in the cluster, `<project>.<domain>`: it names the Lease and begins
    /// the field managers, so it must never change.
    ///
    /// # Errors
    /// When there is no API server to be found, or a flag makes no sense.
    pub async fn new(options: Options, id: &str) -> anyhow::Result<Self> {
        logs::start(options.log_format, &options.log_level)?;
        let fence = Fence::closed();
        let metrics = Metrics::new();
        let clients = Clients::connect(&options, &fence, metrics.requests()).await?;
        let mut manager = Self::with(options, id, clients, fence, metrics);
        manager.watchdog = true;
        Ok(manager)
    }

    pub(crate) fn with(
        options: Options,
        id: &str,
        clients: Clients,
        fence: Fence,
        metrics: Metrics,
    ) -> Self {
        let identity = identity();
        let (recorder, publisher) = Recorder::new(&identity);
        let caches = Caches::default();
        metrics.show(&caches);
        Self {
            id: id.to_owned(),
            fence,
            caches,
            metrics,
            health: Health::default(),
            timer: Timer::default(),
            recorder,
            publisher,
            controllers: Vec::new(),
            webhooks: Webhooks::new(),
            conversions: Conversions::default(),
            mistakes: Vec::new(),
            identity,
            leading: Vec::new(),
            always: Vec::new(),
            watchdog: false,
            options,
            clients,
        }
    }

    /// Runs a task in every replica, from start to shutdown. If it fails, the process ends with its error.
    pub fn always<F, R>(&mut self, name: &str, task: F)
    where
        F: FnOnce(Running) -> R + Send + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.always.push(Task::new(name, task));
    }

    /// Runs a task in the leader only, like a controller. If it fails, the process ends with its error.
    pub fn leading<F, R>(&mut self, name: &str, task: F)
    where
        F: FnOnce(Running) -> R + Send + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.leading.push(Task::new(name, task));
    }

    /// Adds a check to `/healthz`: an error with its reason says that this process must be started anew.
    pub fn live_check<F>(&mut self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.health.add_live(name, check);
    }

    /// Adds a check to `/readyz`: an error with its reason says that this replica must not be sent requests.
    pub fn ready_check<F>(&mut self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.health.add_ready(name, check);
    }

    /// What tells of objects that cannot be read.
    pub(crate) fn reporter(&self) -> Reporter {
        Reporter {
            recorder: self.recorder.clone(),
            id: self.id.clone(),
        }
    }

    /// A client of the API server, for what runs in every replica.
    #[must_use]
    pub fn client(&self) -> Client {
        self.clients.always.clone()
    }
}

/// The name of this process among its replicas: that of the Pod or host, and something that is never the same again.
fn identity() -> String {
    use std::hash::{BuildHasher, RandomState};
    let host = || {
        hostname::get()
            .ok()
            .and_then(|name| name.into_string().ok())
    };
    let name = std::env::var("POD_NAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(host);
    let unique = RandomState::new().hash_one(std::process::id());
    format!("{}_{unique:016x}", name.unwrap_or_default())
}
