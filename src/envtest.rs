//! `kbr envtest`: a real etcd and kube-apiserver to test against, without a cluster.
//!
//! The binaries lie in the store of setup-envtest (`assets`), built from source by `build`. `run` starts a control
//! plane (`control_plane`) through a guard process (`guard`), which tears it down however kbr ends.

pub mod apply;
pub mod assets;
mod build;
pub mod certificates;
pub mod control_plane;
pub mod crds;
pub mod exec;
mod folder;
mod guard;
mod logs;
mod run;
mod servers;

use std::path::PathBuf;
use std::process::ExitCode;

use self::assets::{Assets, Store};
use crate::output;

/// Test against a real API server, without a cluster
///
/// The binaries are those of setup-envtest, in its store: a Go project and this one share them.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build etcd, kube-apiserver and kubectl from source, with Go
    ///
    /// Prints their folder. Does nothing when they are there already; the first time takes some 7 minutes on two cores.
    Build(StoreArgs),
    /// Print the folder of the binaries
    ///
    /// This is what `setup-envtest use -i -p path` prints: `KUBEBUILDER_ASSETS` if that is set, else the folder in the store.
    Path(StoreArgs),
    /// Run a command with an API server of its own
    ///
    /// Starts etcd and kube-apiserver on free ports of the loopback, installs the CRDs of the project, runs the command,
    /// and removes everything again. The command finds `KUBECONFIG`, `KUBEBUILDER_ASSETS` and `KBR_ENVTEST=1` in its
    /// environment, and the matching kubectl first in PATH; kbr exits with its code. Example:
    ///
    ///     kbr envtest run -- cargo test --features envtest
    #[command(verbatim_doc_comment)]
    Run(run::Args),
    /// Start the servers, and stop them at the end of standard input
    #[command(hide = true)]
    Guard(guard::Args),
    /// Become a command that ends with its parent
    #[command(hide = true)]
    Exec(exec::Args),
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Where the binaries are kept [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

/// Runs `kbr envtest`. The exit code is that of the command where there is one (128 + n for signal n), otherwise 0.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Build(args) => print_folder(&build::build(&Store::new(args.store)?)?)?,
        Command::Path(args) => print_folder(&Assets::find(args.store)?)?,
        Command::Run(args) => return run::run(args),
        Command::Guard(args) => guard::run(&args)?,
        Command::Exec(args) => return exec::run(&args),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_folder(assets: &Assets) -> anyhow::Result<()> {
    output::data(&format!("{}\n", assets.folder.display()))
}

/// Tells the user on stderr what is being done, in the form of the scaffolder's reports.
pub fn say(verb: &str, what: &str) {
    output::message(format_args!("{verb:>12} {what}"));
}
