//! The manager: starts what was registered, and ends it in order.

use std::{fmt, sync::Arc};

use kube::Client;
use tokio::{
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    access,
    cache::Caches,
    connect::Clients,
    controller::Controller,
    events::{Publisher, Recorder},
    fence::Fence,
    leader::{Election, Elector},
    logs,
    metrics::Metrics,
    object::Object,
    options::Options,
    probes::Health,
    server::{self, Server},
    shutdown,
    task::{Running, Task},
    tls,
    worker::AnyController,
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
    pub(crate) recorder: Recorder,
    pub(crate) publisher: Publisher,
    pub(crate) controllers: Vec<Arc<dyn AnyController>>,
    /// What was registered wrongly; reported all at once by [`run`](Self::run).
    pub(crate) mistakes: Vec<String>,
    identity: String,
    leading: Vec<Task>,
    always: Vec<Task>,
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
        let clients = Clients::connect(&options, &fence).await?;
        Ok(Self::with(options, id, clients, fence))
    }

    pub(crate) fn with(options: Options, id: &str, clients: Clients, fence: Fence) -> Self {
        let identity = identity();
        let (recorder, publisher) = Recorder::new(&identity);
        Self {
            id: id.to_owned(),
            fence,
            caches: Caches::default(),
            metrics: Metrics::new(),
            health: Health::default(),
            recorder,
            publisher,
            controllers: Vec::new(),
            mistakes: Vec::new(),
            identity,
            leading: Vec::new(),
            always: Vec::new(),
            options,
            clients,
        }
    }

    /// Registers a controller of `K`, whose name no other may have. End it with `.reconcile(…)`.
    pub fn controller<K: Object>(&mut self, name: &str) -> Controller<'_, K> {
        Controller::new(self, name)
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
        self.health.add_live(name, Box::new(check));
    }

    /// Adds a check to `/readyz`: an error with its reason says that this replica must not be sent requests.
    pub fn ready_check<F>(&mut self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.health.add_ready(name, Box::new(check));
    }

    /// A client of the API server, for what runs in every replica.
    #[must_use]
    pub fn client(&self) -> Client {
        self.clients.always.clone()
    }

    /// Runs everything until SIGTERM or SIGINT, and ends when the work under way has ended.
    ///
    /// # Errors
    /// When a port is taken, a task fails, leadership is lost, or a reconcile outlives `--shutdown-timeout`. The
    /// process must end then, as what was running may run on for a moment.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        anyhow::ensure!(self.mistakes.is_empty(), "{}", self.mistakes.join("\n"));
        let stop = CancellationToken::new();
        shutdown::on_signal(stop.clone())?;
        let serving = CancellationToken::new();
        let mut servers = self.serve(&stop, &serving).await?;

        let mut always = JoinSet::new();
        for task in self.always.drain(..) {
            let client = self.clients.always.clone();
            always.spawn(task.run(Running {
                client,
                stop: stop.clone(),
            }));
        }
        let deadline = self.options.shutdown_timeout;
        let mut lead = std::pin::pin!(self.lead(stop.clone()));
        loop {
            tokio::select! {
                result = &mut lead => break result?,
                Some(ended) = always.join_next() => flatten(ended)?,
            }
        }
        let rest = async {
            while let Some(ended) = always.join_next().await {
                flatten(ended)?;
            }
            anyhow::Ok(())
        };
        let rest = timeout(deadline, rest).await;
        rest.map_err(|_| anyhow::anyhow!("a task did not end within {deadline:?}"))??;

        serving.cancel();
        while servers.join_next().await.is_some() {}
        tracing::info!("ended");
        Ok(())
    }

    /// Starts the servers, which go on until `serving` is cancelled.
    async fn serve(
        &self,
        stop: &CancellationToken,
        serving: &CancellationToken,
    ) -> anyhow::Result<JoinSet<()>> {
        let mut servers = JoinSet::new();
        if let Some(address) = self.options.metrics_bind_address.get() {
            let secure = self.options.metrics_secure;
            let server = Server {
                listener: server::bind(address).await?,
                tls: if secure {
                    Some(self.metrics_certificate()?)
                } else {
                    None
                },
                handler: access::handler(
                    self.metrics.clone(),
                    secure.then(|| self.clients.always.clone()),
                ),
            };
            let address = server.listener.local_addr()?;
            tracing::info!(%address, secure, "serving metrics");
            servers.spawn(server.run(serving.clone()));
        }
        tracing::info!(id = self.id, identity = self.identity, "starting manager");
        if let Some(address) = self.options.health_probe_bind_address.get() {
            let stopping = stop.clone();
            let check = move || {
                if stopping.is_cancelled() {
                    return Err("shutting down".to_owned());
                }
                Ok(())
            };
            self.health.add_ready("shutdown", Box::new(check));
            let health = self.health.clone();
            let server = Server {
                listener: server::bind(address).await?,
                tls: None,
                handler: Arc::new(move |request| {
                    let reply = health.answer(&request);
                    Box::pin(async { reply })
                }),
            };
            let address = server.listener.local_addr()?;
            tracing::info!(%address, "serving health probes");
            servers.spawn(server.run(serving.clone()));
        }
        Ok(servers)
    }

    fn metrics_certificate(
        &self,
    ) -> anyhow::Result<tokio::sync::watch::Receiver<Arc<rustls::ServerConfig>>> {
        let options = &self.options;
        match &options.metrics_cert_path {
            Some(directory) => {
                let (certificate, key) = (&options.metrics_cert_name, &options.metrics_cert_key);
                tls::Files::new(directory, certificate, key).watch()
            }
            None => tls::self_signed(),
        }
    }

    /// Runs what the leader runs, while this process leads; until `stop`.
    async fn lead(&mut self, stop: CancellationToken) -> anyhow::Result<()> {
        if !self.options.leader_elect {
            self.fence.open();
            return self.work(stop).await;
        }
        let election = self.election();
        election.check()?;
        let lease = election.name.clone();
        self.metrics.lead(&lease, false);
        tracing::info!(lease, namespace = election.namespace, "waiting to lead");
        let client = self.clients.election.clone();
        let mut elector = Elector::new(client, election, self.fence.clone());
        let Some(deadline) = stop.run_until_cancelled(elector.acquire()).await else {
            return Ok(());
        };
        tracing::info!(lease, identity = self.identity, "leading");
        self.metrics.lead(&lease, true);
        tokio::select! {
            biased;
            () = elector.hold(deadline) => {
                self.metrics.lead(&lease, false);
                anyhow::bail!("leadership lost: the lease `{lease}` was not renewed in time");
            }
            // On an error the lease is left to expire, as something may run on.
            result = self.work(stop) => result?,
        }
        self.metrics.lead(&lease, false);
        // It expires by itself, so a failure costs time only.
        if let Err(error) = elector.release().await {
            tracing::warn!(%error, "cannot release the lease");
        }
        Ok(())
    }

    fn election(&self) -> Election {
        let namespace = self.options.leader_election_namespace.as_deref();
        let namespace = namespace.unwrap_or(self.clients.election.default_namespace());
        Election {
            namespace: namespace.to_owned(),
            name: self.id.clone(),
            identity: self.identity.clone(),
            lease_duration: self.options.leader_election_lease_duration,
            renew_deadline: self.options.leader_election_renew_deadline,
            retry_period: self.options.leader_election_retry_period,
        }
    }

    /// Runs caches, controllers and leading tasks until `stop`, then waits for what is under way.
    async fn work(&mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let client = self.clients.leading.clone();
        let mut watches = JoinSet::new();
        self.caches
            .start(&client, &self.options.namespaces(), &mut watches);
        let mut tasks = JoinSet::new();
        for controller in &self.controllers {
            let running = controller.clone().run(stop.clone());
            tasks.spawn(async move {
                running.await;
                Ok(())
            });
        }
        for task in self.leading.drain(..) {
            tasks.spawn(task.run(Running {
                client: client.clone(),
                stop: stop.clone(),
            }));
        }
        let deadline = self.options.shutdown_timeout;
        let ended = async {
            while let Some(ended) = tasks.join_next().await {
                flatten(ended)?;
            }
            // With nothing to run, a manager waits like any other.
            stop.cancelled().await;
            anyhow::Ok(())
        };
        let late = async {
            stop.cancelled().await;
            tokio::time::sleep(deadline).await;
        };
        tokio::select! {
            result = ended => result?,
            () = late => anyhow::bail!("what was under way did not end within {deadline:?}"),
            () = self.publisher.run(&client) => {}
        }
        // The last events; they may not hold up the end.
        let _ = timeout(
            std::time::Duration::from_secs(1),
            self.publisher.flush(&client),
        )
        .await;
        Ok(())
    }
}

fn flatten(ended: Result<anyhow::Result<()>, JoinError>) -> anyhow::Result<()> {
    ended.unwrap_or_else(|error| Err(anyhow::anyhow!("a task panicked: {error}")))
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
