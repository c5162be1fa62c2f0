//! Tests of the whole operator: its process, and `kubectl`.

use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use super::{Cluster, webhooks::Webhooks};

/// The operator, as a process of its own; dropping this ends it.
#[derive(Debug)]
#[must_use = "the operator ends when this is dropped"]
pub struct Operator {
    process: Child,
    webhooks: Option<Webhooks>,
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Some(webhooks) = &self.webhooks {
            webhooks.hand_over();
        }
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Cluster {
    /// Starts the operator `program` for the namespace of this test. Its warnings go to standard error.
    ///
    /// If the project has webhooks, this waits until they are served, and has the API server call them for this
    /// namespace. Versions of a kind are converted by the operator that started last, of those that run.
    ///
    /// # Errors
    /// When there is no such program, or it does not serve its webhooks.
    pub fn operator(&self, program: &str) -> anyhow::Result<Operator> {
        let webhooks = Webhooks::prepare(self)?;
        let mut command = Command::new(program);
        command
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(["--metrics-bind-address", "0"])
            .env("WATCH_NAMESPACE", self.namespace())
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null());
        if let Some(webhooks) = &webhooks {
            webhooks.tell(&mut command);
        }
        let process = command
            .spawn()
            .with_context(|| format!("cannot run `{program}`"))?;
        let mut operator = Operator { process, webhooks };
        if let Some(webhooks) = &mut operator.webhooks {
            webhooks.install(self)?;
        }
        Ok(operator)
    }

    /// Runs `kubectl` in the namespace of this test, and returns what it printed.
    ///
    /// # Errors
    /// What it printed to standard error, when it fails.
    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("kubectl")
            .args(["--namespace", self.namespace()])
            .args(args)
            .stdin(Stdio::null())
            .output()
            .context("cannot run `kubectl`")?;
        anyhow::ensure!(
            output.status.success(),
            "`kubectl {}` failed: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
