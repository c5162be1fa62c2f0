//! Tests of the whole operator: its process, and `kubectl`.

use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use super::Cluster;

/// The operator, as a process of its own; dropping this ends it.
#[derive(Debug)]
#[must_use = "the operator ends when this is dropped"]
pub struct Operator(Child);

impl Drop for Operator {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Cluster {
    /// Starts the operator `program` for the namespace of this test. Its warnings go to standard error.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn operator(&self, program: &str) -> anyhow::Result<Operator> {
        let child = Command::new(program)
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(["--metrics-bind-address", "0"])
            .env("WATCH_NAMESPACE", self.namespace())
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run `{program}`"))?;
        Ok(Operator(child))
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
