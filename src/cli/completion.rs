//! `kbr completion`, and the values that only this machine knows: the kinds of the project, the clusters.
//!
//! The script of a shell runs kbr whenever the user presses Tab, so it never becomes stale.

use std::env;
use std::ffi::OsStr;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::Cli;
use kbr_envtest::cluster;
use kbr_host::output;
use kbr_scaffold::project::Project;
use kbr_scaffold::workdir;

/// The variable by which the script of a shell asks for candidates; its value is the name of the shell.
const VAR: &str = "KBR_COMPLETE";

/// Print the completion script of a shell
///
/// It completes commands, flags, and the groups, versions and kinds of the project. To load it whenever the shell starts:
///
///     echo 'source <(kbr completion bash)' >> ~/.bashrc
///     echo 'source <(kbr completion zsh)' >> ~/.zshrc
///     echo 'kbr completion fish | source' >> ~/.config/fish/config.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

/// Runs `kbr completion`.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).context("an unknown shell")?;
    let mut script = Vec::new();
    shell.write_registration(VAR, "kbr", "kbr", "kbr", &mut script)?;
    output::data(&String::from_utf8(script)?)
}

/// Answers a shell that asks for candidates; returns false for every other call.
///
/// # Errors
/// The shell is unknown, or standard output cannot be written.
pub fn answer() -> clap::error::Result<bool> {
    let folder = env::current_dir().ok();
    CompleteEnv::with_factory(Cli::command)
        .var(VAR)
        .try_complete(env::args_os(), folder.as_deref())
}

/// Completes a group by those of the project.
pub fn groups() -> ArgValueCompleter {
    of_project(|project| project.apis().map(|api| api.group.clone()).collect())
}

/// Completes a version by those of the project.
pub fn versions() -> ArgValueCompleter {
    of_project(|project| project.apis().map(|api| api.version.clone()).collect())
}

/// Completes a kind by those of the project.
pub fn kinds() -> ArgValueCompleter {
    of_project(|project| project.apis().map(|api| api.kind.clone()).collect())
}

/// Completes the name of a cluster.
pub fn clusters() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| candidates(cluster::names().unwrap_or_default(), typed))
}

/// Outside a project, and in a broken one, there are no candidates.
fn of_project(values: fn(&Project) -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let project = env::current_dir()
            .map_err(anyhow::Error::from)
            .and_then(|folder| workdir::load(&workdir::find_root(&folder)?));
        candidates(project.as_ref().map(values).unwrap_or_default(), typed)
    })
}

/// Those of `values` that begin with what the user has typed, each once.
fn candidates(mut values: Vec<String>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    values.sort();
    values.dedup();
    values.retain(|value| value.starts_with(&*typed));
    values.into_iter().map(CompletionCandidate::new).collect()
}
