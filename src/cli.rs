//! The command line.

use std::process::ExitCode;

use clap::Parser;

/// Scaffold Kubernetes operators in Rust, generate their manifests, and run them against a real API server
#[derive(Debug, Parser)]
#[command(name = "kbr", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Envtest(crate::envtest::Args),
}

/// Parses, runs, prints the error; the exit code is 0, 1 (failed) or 2 (usage).
pub fn main() -> ExitCode {
    let Command::Envtest(args) = Cli::parse().command;
    crate::envtest::run(args).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
