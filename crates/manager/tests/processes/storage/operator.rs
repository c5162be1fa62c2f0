//! The operator that migrates the objects: this test binary, called with `storage`.

use std::{
    fs::{self, File},
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use clap::Parser;
use kube::CustomResource;
use manager::{Manager, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ships::NAMESPACE;
use crate::plane::Plane;

/// The stored kind, in its new version. The API server converts it without a webhook.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "fleet.example.com", version = "v2", kind = "Ship", namespaced)]
pub struct ShipSpec {
    /// How often a writer has changed it.
    #[serde(default)]
    pub count: u64,
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
    /// How many objects to rewrite in a second; if not given, kube-controller-manager may do it.
    #[arg(long)]
    rate: Option<u32>,
}

/// Runs the operator, with the arguments after `storage`.
#[tokio::main]
pub async fn main() -> ExitCode {
    let cli = Cli::parse_from(std::env::args().skip(1));
    manager::exit(run(cli).await)
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    let mut manager = Manager::new(cli.manager, "ships.example.com").await?;
    let migration = manager.migrate_storage::<Ship>();
    migration.grace(Duration::from_secs(1));
    if let Some(rate) = cli.rate {
        migration.rate(rate);
    }
    manager.run().await
}

/// A process of the operator; killed when dropped.
pub struct Operator(Child);

impl Operator {
    /// Starts it as the user `ships`, with the permissions that the library documents and those of the election.
    pub fn start(plane: &Plane, flags: &[String]) -> anyhow::Result<Self> {
        let kubeconfig = plane.kubeconfig("a", plane.port)?;
        let mut config: Value = serde_json::from_slice(&fs::read(kubeconfig)?)?;
        config["users"][0]["user"]["as"] = json!("ships");
        let path = plane.folder.join("ships.json");
        fs::write(&path, config.to_string())?;
        let log = plane.folder.join("ships.log");
        let log = File::options().create(true).append(true).open(log)?;
        let child = Command::new(std::env::current_exe()?)
            .args(["storage", "--leader-elect", "--log-format=json"])
            .arg("--kubeconfig")
            .arg(path)
            .args(flags)
            .arg(format!("--leader-election-namespace={NAMESPACE}"))
            .args(
                [
                    "lease-duration=4s",
                    "renew-deadline=2500ms",
                    "retry-period=500ms",
                ]
                .map(|time| format!("--leader-election-{time}")),
            )
            .arg("--health-probe-bind-address=0")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self(child))
    }

    /// Ends it like `kill -9`.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
