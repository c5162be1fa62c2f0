//! A manager that runs during a unit test.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use tokio::{task::JoinHandle, time::sleep};

use super::FakeApi;
use crate::{controller::worker::AnyController, manager::Manager, options::Options};

/// How often it looks whether there is nothing left to do.
const PERIOD: Duration = Duration::from_millis(1);

/// A manager that runs on a [`FakeApi`], until this is dropped.
#[must_use = "the manager ends when this is dropped"]
pub struct Run {
    controllers: Vec<Arc<dyn AnyController>>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.controllers.iter().map(|controller| controller.name());
        f.debug_list().entries(names).finish()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeApi {
    /// Registers controllers on a new manager and runs it, without servers for probes and metrics.
    ///
    /// # Errors
    /// When something was registered wrongly.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn run(&self, register: impl FnOnce(&mut Manager)) -> anyhow::Result<Run> {
        let mut manager = self.manager_with(Options {
            health_probe_bind_address: "0".parse().map_err(anyhow::Error::msg)?,
            ..Options::default()
        });
        register(&mut manager);
        anyhow::ensure!(
            manager.mistakes.is_empty(),
            "{}",
            manager.mistakes.join("\n")
        );
        Ok(Run {
            controllers: manager.controllers.clone(),
            task: tokio::spawn(async move { manager.run_until(std::future::pending()).await }),
        })
    }
}

impl Run {
    /// Waits until the caches are complete, no reconcile is under way, and none is due.
    ///
    /// Reconciles that a change of an object triggers may be yet to come: wait for that with [`eventually`](super::eventually). What
    /// time triggers ([`FakeApi::advance`]) is waited for.
    ///
    /// # Errors
    /// What the manager ended with.
    pub async fn idle(&mut self) -> anyhow::Result<()> {
        let idle = async {
            for controller in &self.controllers {
                controller.clone().complete().await;
            }
            while !self.controllers.iter().all(|one| one.is_idle()) {
                sleep(PERIOD).await;
            }
        };
        tokio::select! {
            ended = &mut self.task => ended?.context("the manager ended"),
            () = idle => Ok(()),
        }
    }
}
