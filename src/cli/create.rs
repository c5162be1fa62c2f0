//! `kbr create`: extends a project.

mod api;
mod existing;
mod webhook;

/// Add an API, a controller or webhooks to the project
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Api(Box<api::Args>),
    Webhook(Box<webhook::Args>),
}

/// Runs the command.
///
/// # Errors
/// The command failed; nothing was written.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Api(args) => api::run(args),
        Command::Webhook(args) => webhook::run(args),
    }
}
