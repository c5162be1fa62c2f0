//! A manager that runs during a unit test.

use std::time::Duration;

use anyhow::Context as _;
use manager::{
    Manager, Options,
    harness::{Controllers, Hooks},
};
use tokio::{task::JoinHandle, time::sleep};

use super::{FakeApi, fake::hooks};

/// The polling interval of [`Run::idle`].
const PERIOD: Duration = Duration::from_millis(1);

/// A manager that runs on a [`FakeApi`] until it is dropped.
#[must_use = "the manager ends when this is dropped"]
pub struct Run {
    controllers: Controllers,
    task: JoinHandle<anyhow::Result<()>>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.controllers.names()).finish()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeApi {
    /// Registers controllers and webhooks on a new manager and runs it, without servers for probes and metrics.
    ///
    /// From now on, these webhooks review what clients write; not what the test writes, as with [`put`](FakeApi::put). A webhook is
    /// asked about what the webhook configurations select that the test has put into the server; without one, about new and changed
    /// objects of its kind. Match conditions are evaluated with the feature `cel`.
    ///
    /// # Errors
    /// If a registration is invalid.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn run(&self, register: impl FnOnce(&mut Manager)) -> anyhow::Result<Run> {
        let mut options = Options::default();
        options.health_probe_bind_address = "0".parse().map_err(anyhow::Error::msg)?;
        // Here, the API server needs no TLS to ask them.
        options.enable_webhooks = false;
        let mut manager = self.manager_with(options);
        register(&mut manager);
        self.converted_by(&manager);
        self.review_by(hooks(Hooks::of(&manager)));
        Ok(Run {
            controllers: Controllers::of(&manager)?,
            task: tokio::spawn(async move { manager.run_until(std::future::pending()).await }),
        })
    }
}

impl Run {
    /// Waits until the caches have synced, and no reconcile is running or due.
    ///
    /// A change of an object may not have triggered its reconcile yet: use [`eventually`](super::eventually) to wait
    /// for that. Reconciles that are due after [`FakeApi::advance`] are waited for.
    ///
    /// # Errors
    /// The error that the manager ended with.
    pub async fn idle(&mut self) -> anyhow::Result<()> {
        let idle = async {
            self.controllers.synced().await;
            while !self.controllers.are_idle() {
                sleep(PERIOD).await;
            }
        };
        tokio::select! {
            ended = &mut self.task => ended?.context("the manager ended"),
            () = idle => Ok(()),
        }
    }
}
