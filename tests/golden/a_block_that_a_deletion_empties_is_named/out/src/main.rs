//! The captains operator.

mod controllers;
// +kbr:scaffold:modules

use std::process::ExitCode;

use clap::Parser;
use manager::{Manager, Options};

/// The operator's identity in the cluster: the name of its Lease and the prefix of its field managers.
/// Do not change it: a new name would not wait for the running leader, nor own the fields it has written.
const ID: &str = "captains.example.com";

/// The captains operator
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { manager } = Cli::parse();
    manager::exit(run(manager).await)
}

async fn run(options: Options) -> anyhow::Result<()> {
    let mut manager = Manager::new(options, ID).await?;

    if true {
    }
    // +kbr:scaffold:controllers

    // +kbr:scaffold:webhooks

    manager.run().await
}
