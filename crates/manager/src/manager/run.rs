//! Starts everything that was registered with a manager, and shuts it down in order.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use rustls::ServerConfig;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    cache::caches::{Caches, Watches, first_end},
    controller::worker::AnyController,
    leader::watchdog,
    logs,
    manager::Manager,
    migration::run::Migration,
    servers::{
        access_reviews::Reviews,
        http::{self, Server},
        metrics_server::{self, Pages},
        probe_server,
        probes::Health,
        tls,
    },
    task::Running,
};

/// How long the last events may take to be sent.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// How often the leader checks whether its webhooks are served yet.
const READY_PERIOD: Duration = Duration::from_millis(100);

/// How many reconciles that did not end an error names.
const NAMED: usize = 10;

/// Tasks whose error or panic ends the manager.
pub(crate) type Tasks = JoinSet<anyhow::Result<()>>;

impl Manager {
    /// Runs everything until SIGTERM or SIGINT, and returns when the work in progress has ended. A second signal ends
    /// the process at once. From now on, panics are logged if the log is JSON.
    ///
    /// # Errors
    /// If a port is taken, a task fails, leadership is lost, or a reconcile outlives `--shutdown-timeout`. The process
    /// must end then, because some work may still be running for a moment. If it has not ended after 5 s, or before
    /// another process may lead, it is killed.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        // Not in `run_until`: the test runner captures the panic message of a test.
        logs::log_panics();
        let stop = CancellationToken::new();
        on_signal(stop.clone())?;
        self.run_watched(stop).await
    }

    /// Runs everything until `stop` completes, as [`run`](Self::run) does until a signal: for tests, and for programs
    /// with their own signal handlers.
    ///
    /// # Errors
    /// The same as [`run`](Self::run). The process must end then, and is killed if it does not.
    pub async fn run_until(
        &mut self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let token = CancellationToken::new();
        let mut run = self.run_watched(token.clone());
        tokio::select! {
            biased;
            result = &mut run => return result,
            () = stop => token.cancel(),
        }
        run.await
    }

    /// Runs everything until `stop`. Watchdog threads end the process if the runtime cannot.
    ///
    /// The future is boxed so that it is compiled with this crate, and not again with each operator.
    fn run_watched(&mut self, stop: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
            if !self.watchdog {
                return self.run_until_stopped(stop).await;
            }
            let (options, mut watched) = (&self.options, None);
            if options.leader_elect {
                let grace = self.election().grace();
                watched = Some(watchdog::watch(self.fence.clone(), grace)?);
            }
            let result = self.run_until_stopped(stop).await;
            if let Err(error) = &result {
                watchdog::end(error);
                // Something may still be running.
                watched.map(DropGuard::disarm);
            }
            result
        })
    }

    async fn run_until_stopped(&mut self, stop: CancellationToken) -> anyhow::Result<()> {
        self.check()?;
        let (serving, idle) = (CancellationToken::new(), CancellationToken::new());
        // However this function returns, nothing is served afterwards.
        let _end = serving.clone().drop_guard();
        let mut servers = self.start_servers(&stop, &serving).await?;
        let mut webhooks = self.start_webhooks(&stop, &idle).await?;

        let mut caches = std::pin::pin!(self.cache_everywhere());
        let mut always = JoinSet::new();
        for task in self.always.drain(..) {
            let client = self.clients.always.clone();
            always.spawn(task.run(Running {
                client,
                reader: self.reader.clone(),
                timer: self.timer.clone(),
                stop: stop.clone(),
                leads: false,
            }));
        }
        let deadline = self.options.shutdown_timeout;
        let mut lead = std::pin::pin!(self.lead(stop.clone()));
        loop {
            tokio::select! {
                biased;
                result = &mut lead => break result?,
                Some(ended) = always.join_next() => flatten(ended)?,
                Some(ended) = servers.join_next() => flatten(ended)?,
                Some(ended) = webhooks.join_next() => flatten(ended)?,
                error = &mut caches => return Err(error),
            }
        }
        // The last writes of reconciles may have needed a webhook.
        idle.cancel();
        let rest = timeout(deadline, all(&mut always)).await;
        rest.map_err(|_| anyhow::anyhow!("a task did not end within {deadline:?}"))??;

        all(&mut webhooks).await?;
        serving.cancel();
        all(&mut servers).await?;
        tracing::info!("ended");
        Ok(())
    }

    /// Starts the servers, which run until `serving` is cancelled.
    async fn start_servers(
        // Not `&self`: a manager is not `Sync`, and the future must be `Send`.
        &mut self,
        stop: &CancellationToken,
        serving: &CancellationToken,
    ) -> anyhow::Result<Tasks> {
        let mut servers = JoinSet::new();
        if let Some(address) = self.options.metrics_bind_address.get() {
            let secure = self.options.metrics_secure;
            let listener = http::bind(address).await?;
            let address = listener.local_addr()?;
            tracing::info!(%address, secure, "serving metrics");
            let server = self.metrics_server(listener)?.run(serving.clone());
            servers.spawn(server.map(Ok));
        } else if !self.handlers.is_empty() {
            tracing::warn!("no address for metrics is set, so no HTTP handler is served");
        }
        tracing::info!(id = self.id, identity = self.identity, "starting manager");
        if let Some(address) = self.options.health_probe_bind_address.get() {
            let listener = http::bind(address).await?;
            let address = listener.local_addr()?;
            tracing::info!(%address, "serving health probes");
            self.show_readiness(stop);
            let end = probe_server::start(listener, &self.health, serving.clone())?;
            servers.spawn(end);
        }
        Ok(servers)
    }

    fn metrics_server(&self, listener: TcpListener) -> anyhow::Result<Server> {
        let (tls, reviews) = if self.options.metrics_secure {
            let reviews = Reviews::new(self.clients.always.clone())?;
            (Some(self.metrics_certificate()?), Some(reviews))
        } else {
            (None, None)
        };
        Ok(Server {
            listener,
            tls,
            handler: metrics_server::handler(Pages {
                metrics: self.metrics.clone(),
                handlers: self.handlers.clone(),
                reviews,
            }),
        })
    }

    /// Adds checks of readiness: shutdown, and the caches. The caches are only shown and never make the check fail: the
    /// cache of a kind with conversion waits for the webhook, and the webhook waits for readiness.
    fn show_readiness(&self, stop: &CancellationToken) {
        let stop = stop.clone();
        self.health.add_own_ready("shutdown", move || {
            if stop.is_cancelled() {
                return Err("shutting down".to_owned());
            }
            Ok(())
        });
        let fills_when_leading = self.options.leader_elect && !self.options.warm_standby;
        for kind in self.caches.states().into_keys() {
            let (name, caches) = (format!("cache-{kind}"), self.caches.clone());
            self.health.show(&name, move || {
                let state = caches.states().remove(&kind)?;
                state.cache.remark(fills_when_leading)
            });
        }
    }

    fn metrics_certificate(&self) -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
        let options = &self.options;
        match &options.metrics_cert_path {
            Some(directory) => {
                let (certificate, key) = (&options.metrics_cert_name, &options.metrics_cert_key);
                tls::Files::new(directory, certificate, key).watch(self.metrics.certificates())
            }
            None => tls::self_signed(),
        }
    }

    /// Runs controllers, leading tasks and caches, unless these are `warm`, until `stop`. Then waits for the work in
    /// progress.
    pub(super) async fn work(
        &mut self,
        stop: CancellationToken,
        warm: Option<Watches>,
    ) -> anyhow::Result<()> {
        let client = self.clients.leading.clone();
        self.controllers.iter().for_each(|one| one.lead());
        self.caches.report(&self.reporter());
        let mut watches = warm.unwrap_or_else(|| self.fill_caches());
        let mut tasks = self.start(&stop);
        let deadline = self.options.shutdown_timeout;
        let ended = async {
            all(&mut tasks).await?;
            // A manager with nothing to run waits like any other.
            stop.cancelled().await;
            anyhow::Ok(())
        };
        let late = async {
            stop.cancelled().await;
            sleep(deadline).await;
        };
        let limit = self.options.cache_sync_timeout;
        // Those that every replica fills, too: controllers wait until they are up to date.
        let incomplete = incomplete(self.caches.clone(), self.health.clone(), limit);
        let no_more_events = CancellationToken::new();
        let mut publish = std::pin::pin!(self.publisher.run(&client, &no_more_events));
        tokio::select! {
            biased;
            result = ended => result?,
            () = late => return Err(outlived(&self.controllers, deadline)),
            error = first_end(&mut watches) => return Err(error),
            error = incomplete => return Err(error),
            () = &mut publish => {}
        }
        no_more_events.cancel();
        // The last events must not delay the end.
        let _ = timeout(LAST_EVENTS, publish).await;
        Ok(())
    }

    pub(super) fn fill_caches(&self) -> Watches {
        let (client, namespaces) = (&self.clients.leading, self.options.namespaces());
        let caches = self.controllers_caches();
        caches.start(client, &namespaces, &self.reporter())
    }

    /// The caches that only controllers read.
    fn controllers_caches(&self) -> Caches {
        self.caches.without(&self.reader.caches)
    }

    /// Starts controllers and leading tasks.
    fn start(&mut self, stop: &CancellationToken) -> Tasks {
        let mut tasks = JoinSet::new();
        for controller in &self.controllers {
            tasks.spawn(controller.clone().run(stop.clone()).map(Ok));
        }
        let everywhere = self.options.namespaces().is_empty();
        for settings in self.migrations.drain(..) {
            let kind = settings.kind();
            if settings.namespaced && !everywhere {
                tracing::info!(kind, "watching some namespaces only: no storage migration");
                continue;
            }
            let (client, metrics) = (self.clients.leading.clone(), self.metrics.migration(&kind));
            let migration = Migration::new(settings, client, &self.id, metrics);
            tasks.spawn(migration.run(stop.clone()));
        }
        for task in self.leading.drain(..) {
            tasks.spawn(task.run(Running {
                client: self.clients.leading.clone(),
                reader: self.reader.clone(),
                timer: self.timer.clone(),
                stop: stop.clone(),
                leads: true,
            }));
        }
        tasks
    }
}

/// Waits until the caches have had `limit` to sync, and returns why some have not. Never returns if all have.
///
/// The time starts when webhooks are served: to list a kind with conversion, the API server calls one.
pub(crate) async fn incomplete(caches: Caches, health: Health, limit: Duration) -> anyhow::Error {
    while !health.is_ready("webhooks") {
        sleep(READY_PERIOD).await;
    }
    sleep(limit).await;
    match caches.incomplete(limit) {
        Some(error) => error,
        // A kind that is lost later only backs off.
        None => std::future::pending().await,
    }
}

/// An error with the reconciles that have not ended within `deadline`.
fn outlived(controllers: &[Arc<dyn AnyController>], deadline: Duration) -> anyhow::Error {
    let name = |controller: &Arc<dyn AnyController>| {
        let name = controller.name().to_owned();
        let keys = controller.under_way().into_iter();
        keys.map(move |key| format!("{name} `{key}`"))
            .collect::<Vec<_>>()
    };
    let mut names: Vec<_> = controllers.iter().flat_map(name).collect();
    names.sort();
    if names.is_empty() {
        return anyhow::anyhow!("a leading task did not end within {deadline:?}");
    }
    let (count, reconcile) = (
        names.len(),
        if names.len() == 1 {
            "reconcile"
        } else {
            "reconciles"
        },
    );
    names.truncate(NAMED);
    let more = count - names.len();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let names = names.join(", ");
    anyhow::anyhow!(
        "{count} {reconcile} did not end within {deadline:?}: {names}{more}\n\
         help: `--shutdown-timeout` gives them longer, with a grace period of the Pod above it",
    )
}

/// Waits until all tasks have ended.
async fn all(tasks: &mut Tasks) -> anyhow::Result<()> {
    while let Some(ended) = tasks.join_next().await {
        flatten(ended)?;
    }
    Ok(())
}

fn flatten(ended: Result<anyhow::Result<()>, JoinError>) -> anyhow::Result<()> {
    ended.unwrap_or_else(|error| Err(anyhow::anyhow!("a task panicked: {error}")))
}

/// Cancels `stop` on SIGTERM or SIGINT; a second signal ends the process at once.
fn on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        let signal = next_signal(&mut terminate, &mut interrupt).await;
        tracing::info!(signal, "shutting down");
        stop.cancel();
        let signal = next_signal(&mut terminate, &mut interrupt).await;
        tracing::warn!(signal, "ending at once");
        // A user who sends a second signal does not want to wait any longer.
        std::process::exit(1);
    });
    Ok(())
}

async fn next_signal(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
