//! The command line: parse, run, print the error once.

mod bundle;
mod chart;
mod clones;
mod cluster;
mod completion;
mod create;
mod delete;
mod dev;
mod dist;
mod envtest;
mod import;
mod init;
mod kind;
mod kubebuilder;
mod man;
mod manifests;
mod plan;
mod prompt;
pub mod report;
mod upgrade;
mod version;
mod workspace;
mod write;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use kbr_host::diagnostic::{Diagnostic, Outcome, nothing_written};
use kbr_host::output;

/// Scaffold Kubernetes operators in Rust, generate their manifests, and run them against a real API server
///
/// From an empty folder to a running operator:
///
///     kbr init --domain example.com
///     kbr create api --group crew --version v1 --kind Captain --yes
///     make test
#[derive(Debug, Parser)]
#[command(name = "kbr", version, verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Import(import::Args),
    #[command(subcommand)]
    Create(create::Command),
    #[command(subcommand)]
    Delete(delete::Command),
    Manifests(manifests::Args),
    Chart(chart::Args),
    Bundle(bundle::Args),
    Plan(plan::Args),
    Clone(plan::CloneArgs),
    /// The part of a plan that runs in the sandbox
    #[command(hide = true)]
    PlanInside,
    Envtest(envtest::Args),
    Dev(dev::Args),
    Cluster(cluster::Args),
    Upgrade(upgrade::Args),
    /// Print kbr's version
    Version(version::Args),
    Completion(completion::Args),
    Man(man::Args),
}

/// Flags of every command that writes.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
struct WriteArgs {
    /// Report what would be written, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Overwrite files that exist and differ: manual changes to them are lost
    #[arg(long)]
    force: bool,
    /// Ask no questions: answer each with yes, or with its default
    #[arg(short, long)]
    yes: bool,
}

/// Parses, runs, prints the error; the exit code is 0, 1 (failed) or 2 (usage; 1 of `kbr plan`, whose 2 means changes).
pub fn main() -> ExitCode {
    let cli = match completion::answer() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => Cli::try_parse(),
        Err(error) => Err(error),
    };
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match run(cli) {
        Ok(code) => code,
        Err(error) => failed(&error, 1),
    }
}

/// Prints the error of a command that ends with `code`.
fn failed(error: &anyhow::Error, code: u8) -> ExitCode {
    output::failure("error", error);
    ExitCode::from(code)
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Init(args) => init::run(&args)?,
        Command::Import(args) => import::run(&args)?,
        Command::Create(command) => create::run(&command)?,
        Command::Delete(command) => delete::run(&command)?,
        Command::Manifests(args) => manifests::run(&args)?,
        Command::Chart(args) => chart::run(&args).map_err(nothing_written)?,
        Command::Bundle(args) => bundle::run(&args).map_err(nothing_written)?,
        Command::Plan(args) => return plan::run(&args),
        Command::Clone(args) => plan::clone(&args)?,
        Command::PlanInside => plan::inside()?,
        Command::Envtest(args) => return envtest::run(args),
        Command::Dev(args) => return dev::run(args),
        Command::Cluster(args) => return cluster::run(args),
        Command::Upgrade(args) => return upgrade::run(&args),
        Command::Version(args) => version::run(&args)?,
        Command::Completion(args) => completion::run(&args)?,
        Command::Man(args) => man::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the help, or the error about the command line.
fn usage(error: &clap::Error) -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    let text: Vec<String> = arguments
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let is_plan = text.get(1).is_some_and(|it| it == "plan");
    let wrong = if is_plan { 1 } else { 2 };
    if let Some(answer) = kubebuilder::answer(error, &text).or_else(|| not_text(error, &arguments))
    {
        let answer = answer.outcome(Outcome::NothingWritten);
        output::failure("error", &answer.into());
        return ExitCode::from(wrong);
    }
    // A closed pipe is not an error: the reader has seen enough of the help.
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(wrong),
    }
}

/// The error for an argument that is not valid text.
fn not_text(error: &clap::Error, arguments: &[OsString]) -> Option<Diagnostic> {
    let argument = arguments
        .iter()
        .find(|argument| argument.to_str().is_none())?;
    (error.kind() == ErrorKind::InvalidUtf8).then(|| {
        let argument = argument.as_encoded_bytes().escape_ascii();
        Diagnostic::new(format_args!("the argument `{argument}` is not UTF-8 text"))
            .help("type it in UTF-8")
    })
}

#[cfg(test)]
mod tests {
    pub mod hostile;
}
