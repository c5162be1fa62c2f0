//! `kbr create`: extends a project.

pub mod api;
mod existing;
mod webhook;

use super::write;

/// Add an API, a controller or webhooks to the project
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Api(Box<api::Args>),
    Webhook(Box<webhook::Args>),
}

/// Runs the command.
///
/// # Errors
/// As [`write::run`].
pub fn run(command: &Command) -> anyhow::Result<()> {
    write::run(match command {
        Command::Api(args) => api::plan(args),
        Command::Webhook(args) => webhook::plan(args),
    })
}
