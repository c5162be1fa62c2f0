//! `kbr create`: what makes a project grow.

mod api;
mod conversion;
mod existing;
mod webhook;

use crate::plan::Op;

/// Add an API, a controller or webhooks to the project
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Api(Box<api::Args>),
    Webhook(Box<webhook::Args>),
}

/// Runs the command.
///
/// # Errors
/// Whatever stops it; then nothing was written.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Api(args) => api::run(args),
        Command::Webhook(args) => webhook::run(args),
    }
}

/// Files of a table that PROJECT has already are the user's by now, whatever else the command creates.
fn owned(ops: Vec<Op>, recorded: bool) -> Vec<Op> {
    let kept = |op| match op {
        Op::Create { path, text } if recorded => Op::Once { path, text },
        op => op,
    };
    ops.into_iter().map(kept).collect()
}
