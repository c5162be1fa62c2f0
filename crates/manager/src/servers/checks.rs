//! Registers the checks of the operator's author.

use crate::{manager::Manager, servers::check::Check};

impl Manager {
    /// Adds a check to `/healthz`: an error, with its reason, means that this process must be restarted. The reason is
    /// logged when it changes; the response to a probe is without it, because everyone can read that.
    ///
    /// It runs in a thread of its own. A probe waits 800 ms for it, and then reports it as failed. Until it has ended,
    /// it is not called again: probes that arrive meanwhile share its result.
    pub fn live_check<F>(&mut self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.health.add_live(name, Check::blocking(check));
    }

    /// Adds a check to `/readyz`: an error, with its reason, means that this replica must not receive requests.
    /// Otherwise it is like [`live_check`](Self::live_check).
    pub fn ready_check<F>(&mut self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.health.add_ready(name, Check::blocking(check));
    }

    /// Adds an async check to `/healthz`. It is a task of the operator's runtime, to which connections belong, and is
    /// cancelled after 800 ms, which counts as a failure. So it also fails while all threads of that runtime are busy
    /// for as long; if it needs no connection, use [`live_check`](Self::live_check), which it is like otherwise.
    pub fn live_check_async<F, R>(&mut self, name: &str, check: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.health.add_live(name, Check::task(check));
    }

    /// Adds an async check to `/readyz`; otherwise like [`live_check_async`](Self::live_check_async).
    ///
    /// ```
    /// # use manager::Manager;
    /// # #[derive(Clone)] struct Database;
    /// # impl Database { async fn ping(&self) -> anyhow::Result<()> { Ok(()) } }
    /// fn register(manager: &mut Manager, database: Database) {
    ///     manager.ready_check_async("database", move || {
    ///         let database = database.clone();
    ///         async move { database.ping().await }
    ///     });
    /// }
    /// ```
    pub fn ready_check_async<F, R>(&mut self, name: &str, check: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.health.add_ready(name, Check::task(check));
    }
}
