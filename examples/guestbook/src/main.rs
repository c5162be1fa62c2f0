//! The guestbook operator.

mod controllers;
mod images;
mod webhooks;
// +kbr:scaffold:modules

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use manager::{Manager, Options};

use images::Images;

/// The operator's identity in the cluster: the name of its Lease and the prefix of its field managers.
/// Do not change it: a new name would not wait for the running leader, nor own the fields it has written.
const ID: &str = "guestbook.my.domain";

/// The guestbook operator
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    images: Images,
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { images, manager } = Cli::parse();
    manager::exit(run(images, manager).await)
}

async fn run(images: Images, options: Options) -> anyhow::Result<()> {
    images.check()?;
    let images = Arc::new(images);
    let mut manager = Manager::new(options, ID).await?;

    controllers::guestbook::register(&mut manager, &images);
    // +kbr:scaffold:controllers

    webhooks::register(&mut manager, &images);
    // +kbr:scaffold:webhooks

    manager.run().await
}
