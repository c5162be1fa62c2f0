//! The command line.

pub mod report;

use clap::Parser;

#[derive(Parser)]
enum Cli {
    /// Generate CRDs and roles from the code
    Manifests(crate::manifests::Args),
}

/// Parses, runs, prints the error; the exit code is 0, 1 (failed) or 2 (usage).
pub fn main() -> std::process::ExitCode {
    let Cli::Manifests(args) = Cli::parse();
    match crate::manifests::run(&args) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
