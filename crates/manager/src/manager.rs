//! The manager, and the methods that register controllers, tasks and checks with it.

pub(crate) mod cache;
mod configured;
pub(crate) mod controller;
mod lead;
pub(crate) mod parts;
mod register;
pub(crate) mod run;
mod webhook_server;
mod webhooks;

use std::{fmt, sync::Arc};

use kube::{Client, Config};

use crate::{
    cache::{caches::Caches, reader::Reader, report::Reporter},
    connect::Clients,
    controller::worker::AnyController,
    events::{Publisher, Recorder},
    guard,
    leader::fence::Fence,
    logs,
    metrics::Metrics,
    migration::settings::StorageMigration,
    options::Options,
    servers::{handlers::Handlers, probes::Health},
    simulated::random,
    task::{Running, Task},
    timer::Timer,
    webhook::{Conversions, Webhooks},
    writes::takeover::Predecessors,
};

/// Runs controllers, and the parts that every operator needs: leader election, metrics, probes, graceful shutdown.
pub struct Manager {
    pub(crate) options: Options,
    pub(crate) id: String,
    pub(crate) clients: Clients,
    pub(crate) fence: Fence,
    pub(crate) caches: Caches,
    /// Reads the caches that every replica fills; the others are filled by the leader alone.
    pub(crate) reader: Reader,
    pub(crate) metrics: Metrics,
    pub(crate) health: Health,
    pub(crate) timer: Timer,
    pub(crate) guard: guard::Mode,
    pub(crate) recorder: Recorder,
    pub(crate) publisher: Publisher,
    pub(crate) controllers: Vec<Arc<dyn AnyController>>,
    pub(crate) webhooks: Webhooks,
    pub(crate) conversions: Conversions,
    /// Mistakes in the registrations; [`run`](Self::run) reports all of them at once.
    pub(crate) mistakes: Vec<String>,
    pub(crate) identity: String,
    pub(crate) migrations: Vec<StorageMigration>,
    pub(crate) predecessors: Predecessors,
    pub(crate) leading: Vec<Task>,
    pub(crate) always: Vec<Task>,
    /// The author's HTTP handlers, by their paths.
    pub(crate) handlers: Handlers,
    /// Whether a process that does not end by itself is killed. The process of a test must not be.
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
    /// A manager that connects to the API server and logs as the flags say.
    ///
    /// `id` identifies this operator among all others in the cluster, as `<project>.<domain>`. It names the Lease and
    /// is the prefix of the field managers, so it must never change.
    ///
    /// # Errors
    /// If no API server is configured, or a flag has an invalid value.
    pub async fn new(options: Options, id: &str) -> anyhow::Result<Self> {
        logs::start(options.log_format, &options.log_level)?;
        let config = options.config().await?;
        Self::with_config(options, id, config)
    }

    /// A manager that connects with this configuration instead of that of the flags: to impersonate a user, to go
    /// through a proxy, or to run in a program that has a configuration already. Otherwise it is like
    /// [`new`](Self::new). [`Options::config`] is the configuration of the flags, to begin with.
    ///
    /// All clients of the manager use it, with time limits, retries and metrics of their own, so
    /// [`default_retry`](Config::default_retry) has no effect. A manager cannot use a ready [`Client`]: one whose
    /// retries are hidden inside might send a write after the Lease has expired.
    ///
    /// ```
    /// # use manager::{Manager, Options};
    /// # async fn connect(options: Options) -> anyhow::Result<Manager> {
    /// let mut config = options.config().await?;
    /// config.auth_info.impersonate = Some("system:serviceaccount:crew:captains".to_owned());
    /// let manager = Manager::with_config(options, "captains.example.com", config)?;
    /// # Ok(manager)
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the configuration or a flag has an invalid value.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn with_config(options: Options, id: &str, config: Config) -> anyhow::Result<Self> {
        logs::start(options.log_format, &options.log_level)?;
        let fence = Fence::closed();
        let metrics = Metrics::new();
        let clients = Clients::connect(config, &fence, metrics.requests())?;
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
            reader: Reader::of_manager(),
            metrics,
            health: Health::default(),
            timer: Timer::default(),
            guard: if options.storm_guard {
                guard::Mode::Slow
            } else {
                guard::Mode::Off
            },
            recorder,
            publisher,
            controllers: Vec::new(),
            webhooks: Webhooks::new(),
            conversions: Conversions::default(),
            mistakes: Vec::new(),
            identity,
            migrations: Vec::new(),
            predecessors: Predecessors::default(),
            leading: Vec::new(),
            always: Vec::new(),
            handlers: Handlers::new(),
            watchdog: false,
            options,
            clients,
        }
    }

    /// Fails if anything was registered by mistake; reports all mistakes at once.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let mut mistakes = self.mistakes.clone();
        mistakes.extend(self.caches.unused());
        anyhow::ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
        Ok(())
    }

    /// Runs a task in every replica, from start to shutdown. If the task fails, the process ends with its error.
    pub fn always<F, R>(&mut self, name: &str, task: F)
    where
        F: FnOnce(Running) -> R + Send + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.always.push(Task::new(name, task));
    }

    /// Runs a task in the leader only, like a controller. If the task fails, the process ends with its error.
    pub fn leading<F, R>(&mut self, name: &str, task: F)
    where
        F: FnOnce(Running) -> R + Send + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.leading.push(Task::new(name, task));
    }

    /// Takes over the fields that an earlier operator owns under this field manager, in the objects that controllers
    /// apply: before its first apply of an object, a controller becomes the owner of them. The earlier operator is one
    /// that this one replaces, in Go for example: there, the field manager is the name of the binary, `manager`.
    ///
    /// Without it, both own those fields, and one that your code no longer applies stays for ever. With it, such a field
    /// is removed, as if your code had always applied the object. Only `spec.replicas` stays, because an autoscaler may rely on
    /// it. Nothing is written to objects without such an entry,
    /// nor for fields of a status, which need no takeover: updates and patches of them take the fields from their owners.
    ///
    /// Each object is read once after each start, so remove the call when all objects have been taken over. Do not use
    /// it if another operator of that field manager writes to the same objects: its fields would be taken over, too.
    ///
    /// Needs the verbs `get` and `patch` on the objects.
    ///
    /// Source: `k8s.io/client-go/util/csaupgrade`.
    pub fn take_over(&mut self, field_manager: &str) {
        self.predecessors.add(field_manager);
    }

    /// Reports objects that cannot be read.
    pub(crate) fn reporter(&self) -> Reporter {
        Reporter {
            recorder: self.recorder.clone(),
            fence: self.fence.clone(),
            id: self.id.clone(),
        }
    }

    /// A client of the API server, for code that runs in every replica.
    #[must_use]
    pub fn client(&self) -> Client {
        self.clients.always.clone()
    }
}

/// The name of this process among its replicas: the name of the Pod or host, and a unique suffix.
fn identity() -> String {
    let host = || {
        hostname::get()
            .ok()
            .and_then(|name| name.into_string().ok())
    };
    let name = std::env::var("POD_NAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(host);
    let unique = random();
    format!("{}_{unique:016x}", name.unwrap_or_default())
}
