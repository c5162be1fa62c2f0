//! `kbr cluster`: arguments and output.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::completion;
use super::envtest::ClusterArgs;
use super::report::Format;
use kbr_envtest::cluster::{self, Status, check_name};
use kbr_envtest::progress;
use kbr_host::output;

/// Run clusters on this machine, without containers
///
/// A cluster has etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok with fake nodes, all on the loopback.
/// Its API, scheduling, garbage collection, rollouts, tokens, RBAC and admission are real. Its containers, network and DNS are
/// not: no image is pulled, and Pods become `Running` without a process. `kbr envtest build --cluster` builds the programs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Start a cluster, and leave it running
    ///
    /// Does nothing if the cluster is running. It outlives this terminal: `kbr cluster stop` stops it.
    Start(StartArgs),
    /// Stop a cluster, and remove its data unless it was started with --keep
    Stop(StopArgs),
    /// Show the running clusters
    ///
    /// With NAME, the exit code is 1 unless that cluster is running.
    Status(StatusArgs),
    /// Print the kubeconfig of a cluster, with certificates and key in it
    Kubeconfig(Name),
}

#[derive(Debug, clap::Args)]
struct Name {
    /// Name of the cluster
    #[arg(default_value = "kbr", value_parser = check_name, add = completion::clusters())]
    name: String,
}

#[derive(Debug, clap::Args)]
struct StartArgs {
    #[command(flatten)]
    name: Name,
    #[command(flatten)]
    rest: ClusterArgs,
    /// Keep the data when the cluster stops, for the next start on the same ports
    #[arg(long)]
    keep: bool,
    /// Add a context `kbr-NAME` to your kubeconfig, and make it the current one, until the cluster stops
    #[arg(long)]
    merge_kubeconfig: bool,
    /// Timeout for the servers to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct StopArgs {
    #[command(flatten)]
    name: Name,
    /// Also remove the data of a cluster that was started with --keep
    #[arg(long)]
    delete: bool,
}

#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// Name of the cluster [default: all]
    #[arg(value_parser = check_name, add = completion::clusters())]
    name: Option<String>,
    /// Format
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Runs `kbr cluster`.
///
/// # Errors
/// The subcommand failed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Start(args) => start(args)?,
        Command::Stop(args) => cluster::stop(&args.name.name, args.delete)?,
        Command::Status(args) => return status(&args),
        Command::Kubeconfig(args) => output::data(&cluster::kubeconfig(&args.name)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn start(args: StartArgs) -> anyhow::Result<()> {
    let options = cluster::Options {
        cluster: args.rest.into_options(),
        keep: args.keep,
        merge_kubeconfig: args.merge_kubeconfig,
        start_timeout: Duration::from_secs(args.start_timeout),
        store: args.store,
    };
    cluster::start(&args.name.name, &options)
}

fn status(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => cluster::names()?,
    };
    let mut found = Vec::new();
    for name in &names {
        found.extend(Status::of(name)?);
    }
    match args.output {
        Format::Json => {
            let all: Vec<Value> = found.iter().map(Status::json).collect();
            output::data(&format!("{:#}\n", Value::from(all)))?;
        }
        Format::Text => {
            let lines: String = found.iter().map(Status::line).collect();
            output::data(&lines)?;
            if found.is_empty() {
                let text = match &args.name {
                    Some(name) => {
                        format!("no cluster `{name}`; to start it: kbr cluster start {name}")
                    }
                    None => "no cluster; to start one: kbr cluster start".to_owned(),
                };
                progress("missing", &text);
            }
        }
    }
    let asked = args.name.is_some();
    let running = found.iter().any(Status::is_running);
    Ok(ExitCode::from(u8::from(asked && !running)))
}
