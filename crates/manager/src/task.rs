//! The user's own tasks, which the manager runs beside its controllers.

use std::fmt;

use futures_util::future::BoxFuture;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{cache::reader::Reader, timer::Timer};

/// The argument of a task.
#[derive(Clone)]
pub struct Running {
    pub(crate) client: Client,
    pub(crate) reader: Reader,
    pub(crate) timer: Timer,
    pub(crate) stop: CancellationToken,
    /// Whether only the leader runs the task.
    pub(crate) leads: bool,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

impl Running {
    /// A client of the API server. After leadership is lost, the writes of a leading task fail.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The caches of the kinds that were declared with [`Manager::reads`](crate::Manager::reads), once all objects of
    /// these kinds have been listed. A task of [`Manager::leading`](crate::Manager::leading) sees in them all that the
    /// last leader has written. If the manager shuts down before, it returns at once, and reads fail.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Node;
    /// # use manager::{Manager, kind};
    /// // +kbr:rbac:groups=core,resources=nodes,verbs=list;watch
    /// fn register(manager: &mut Manager) {
    ///     manager.reads(kind::<Node>());
    ///     manager.leading("inventory", async |running| {
    ///         let nodes = running.cached().await.list::<Node>().all()?;
    ///         println!("{} nodes", nodes.len());
    ///         running.stopped().await;
    ///         Ok(())
    ///     });
    /// }
    /// ```
    pub async fn cached(&self) -> Reader {
        let ready = async {
            if self.leads {
                self.reader.caches.synced().await;
            } else {
                self.reader.synced().await;
            }
        };
        self.stop.run_until_cancelled(ready).await;
        self.reader.clone()
    }

    /// The current time; in a simulation, that of the history, as [`Context::now`](crate::Context::now) has it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.timer.timestamp()
    }

    /// Waits until the manager shuts down. A task then has until `--shutdown-timeout` to end.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }
}

/// A task that has not started yet.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) start: Box<dyn FnOnce(Running) -> BoxFuture<'static, anyhow::Result<()>> + Send>,
}

impl Task {
    pub(crate) fn new<F, R>(name: &str, task: F) -> Self
    where
        F: FnOnce(Running) -> R + Send + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        Self {
            name: name.to_owned(),
            start: Box::new(move |running| Box::pin(task(running))),
        }
    }

    /// Runs the task; its error contains the task's name.
    pub(crate) async fn run(self, running: Running) -> anyhow::Result<()> {
        let result = (self.start)(running).await;
        result.map_err(|error| error.context(format!("task `{}` failed", self.name)))
    }
}
