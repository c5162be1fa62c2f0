//! `kbr envtest`: arguments and output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::envtest::assets::{Assets, Store};
use crate::envtest::servers::Setup;
use crate::envtest::{build, exec, run, supervisor};
use crate::output;

/// Test against a real API server, without a cluster
///
/// kbr shares the binaries with setup-envtest: they are in its store.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build etcd, kube-apiserver and kubectl from source, with Go
    ///
    /// Prints their folder. Does nothing if they exist already; the first build takes about 7 minutes on two cores.
    Build(StoreArgs),
    /// Print the folder of the binaries
    ///
    /// Like `setup-envtest use -i -p path`: prints `KUBEBUILDER_ASSETS` if it is set, otherwise the folder in the store.
    Path(StoreArgs),
    /// Run a command with its own API server
    ///
    /// Starts etcd and kube-apiserver on free ports of the loopback, installs the project's CRDs, runs the command,
    /// and removes everything again. The command gets `KUBECONFIG`, `KUBEBUILDER_ASSETS` and `KBR_ENVTEST=1` in its
    /// environment, and the matching kubectl first in PATH. kbr exits with the command's exit code.
    /// The CRDs have no conversion, which `kbr dev` and the operator of an integration test serve. Example:
    ///
    ///     kbr envtest run -- cargo test --features envtest
    #[command(verbatim_doc_comment)]
    Run(RunArgs),
    /// Start the servers, and stop them at the end of standard input
    #[command(hide = true)]
    Supervisor(SupervisorArgs),
    /// Become a command that ends with its parent
    #[command(hide = true)]
    Exec(ExecArgs),
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

/// The command, and how to start its control plane.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Also install the CRDs in this folder, in addition to the project's `config/crd/bases`; repeatable
    #[arg(long, value_name = "DIR")]
    crds: Vec<PathBuf>,
    /// Write the servers' logs to this folder
    #[arg(long, value_name = "DIR")]
    keep_logs: Option<PathBuf>,
    /// Timeout for the servers to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The servers to supervise.
#[derive(Debug, clap::Args)]
struct SupervisorArgs {
    #[command(flatten)]
    setup: Setup,
}

/// A command, and the process to whose lifetime it is bound.
#[derive(Debug, clap::Args)]
struct ExecArgs {
    /// The process that starts this one.
    #[arg(long)]
    parent: i32,
    /// Ends the program with SIGKILL instead of SIGTERM.
    #[arg(long)]
    kill: bool,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs `kbr envtest`. The exit code is that of the command, if there is one (128 + n for signal n), otherwise 0.
///
/// # Errors
/// The subcommand failed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Build(args) => print_folder(&build::build(&Store::new(args.store)?)?)?,
        Command::Path(args) => print_folder(&Assets::find(args.store)?)?,
        Command::Run(args) => return run_command(args),
        Command::Supervisor(args) => supervisor::run(&args.setup)?,
        Command::Exec(args) => return exec_command(args),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_folder(assets: &Assets) -> anyhow::Result<()> {
    output::data(&format!("{}\n", assets.folder.display()))
}

fn run_command(args: RunArgs) -> anyhow::Result<ExitCode> {
    run::run(run::Options {
        crds: args.crds,
        keep_logs: args.keep_logs,
        start_timeout: Duration::from_secs(args.start_timeout),
        store: args.store,
        command: args.command,
    })
}

fn exec_command(args: ExecArgs) -> anyhow::Result<ExitCode> {
    exec::run(&exec::Options {
        parent: args.parent,
        kill: args.kill,
        command: args.command,
    })
}
