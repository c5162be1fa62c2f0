//! The operator captains.

mod controllers;
// +kbr:scaffold:modules

use clap::Parser;
use manager::{Manager, Options};

/// Who this operator is in the cluster: the name of its Lease, and the first part of its field managers.
/// Another name would neither wait for the running operator nor own what it has written.
const ID: &str = "captains.example.com";

/// The operator captains
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Cli { manager } = Cli::parse();
    let mut manager = Manager::new(manager, ID).await?;

    controllers::httproute::register(&mut manager);
    // +kbr:scaffold:controllers

    // +kbr:scaffold:webhooks

    manager.run().await
}
