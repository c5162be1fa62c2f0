//! `kbr create`: what makes a project grow.

mod api;

/// Add an API or a controller to the project
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Api(Box<api::Args>),
}

/// Runs the command.
///
/// # Errors
/// Whatever stops it; then nothing was written.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Api(args) => api::run(args),
    }
}
