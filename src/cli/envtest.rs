//! `kbr envtest`: arguments and output.

mod selection;
mod versions;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::clones;
use kbr_envtest::assets::{Assets, Store};
use kbr_envtest::modules::{self, Module};
use kbr_envtest::setup::Setup;
use kbr_envtest::start::Cluster;
use kbr_envtest::{build, exec, installed, run, supervisor};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_scaffold::workdir;

/// Test against a real API server, without a cluster
///
/// kbr and setup-envtest share one store of binaries.
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
    Build(BuildArgs),
    /// Print the folder of the binaries
    ///
    /// Prints `KUBEBUILDER_ASSETS` if it is set, otherwise the folder of kbr's newest version of Kubernetes in the store, or of the newest
    /// patch of the same minor version: the one that `kbr envtest run` and `kbr dev` use.
    Path(StoreArgs),
    /// Find a version in the store, or download it, and print where it is
    ///
    /// Like `setup-envtest use`, with the same store: selectors, flags, output and exit code are the same. The archive's SHA-512 is
    /// compared with the index. The next download resumes an interrupted one. Examples:
    ///
    ///     kbr envtest use 1.37
    ///     source <(kbr envtest use -i -p env 1.37)
    ///     kbr envtest use '1.37!' --or-build
    #[command(verbatim_doc_comment)]
    Use(versions::UseArgs),
    /// List versions in the store and in the index
    List(versions::ListArgs),
    /// Remove versions from the store
    ///
    /// Without a version, removes all versions for this platform. Also removes partial downloads. Does not ask for confirmation.
    Cleanup(versions::CleanupArgs),
    /// Add a version to the store, from an archive on standard input
    Sideload(versions::SideloadArgs),
    /// Print kbr's version
    Version(super::version::Args),
    /// Run a command with its own API server
    ///
    /// Starts etcd and kube-apiserver on free ports of the loopback, installs the project's CRDs, runs the command,
    /// and removes everything again. Meanwhile, what loses its owners is deleted, as in a cluster. The command gets
    /// `KUBECONFIG`, `KUBEBUILDER_ASSETS` and `KBR_ENVTEST=1` in its environment, and the matching kubectl first in
    /// PATH. kbr exits with the command's exit code.
    /// The CRDs have no conversion: only `kbr dev` and the operator of an integration test serve it. Example:
    ///
    ///     kbr envtest run -- cargo test --features envtest
    #[command(verbatim_doc_comment)]
    Run(RunArgs),
    /// Start the servers, and stop them at the end of standard input
    #[command(hide = true)]
    Supervisor(SupervisorArgs),
    /// Run a command that dies with its parent
    #[command(hide = true)]
    Exec(ExecArgs),
}

#[derive(Debug, clap::Args)]
struct BuildArgs {
    /// Version of Kubernetes
    #[arg(long, value_name = "VERSION", value_parser = version_to_build(), default_value = modules::newest().kubernetes())]
    kubernetes: &'static Module,
    /// Also build kube-controller-manager, kube-scheduler and kwok, which a whole cluster needs
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, visible_alias = "bin-dir", value_name = "DIR")]
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
    /// Log every request to this file, as JSON lines without the objects; `kbr manifests permissions FILE` compares
    /// those of the operator with its permissions. Overwrites an existing file
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Timeout for the servers to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Start a whole cluster: also kube-controller-manager, kube-scheduler, and kwok with fake nodes
    ///
    /// Deployments are rolled out, namespaces are removed, Pods become `Running` and Jobs complete,
    /// but no container runs. A Pod's annotation `kbr/pod-phase` makes it stay `Pending` or `Running`, or end as
    /// `Succeeded` or `Failed`. The API server connects to nothing but the loopback.
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    rest: ClusterArgs,
    /// Begin with the objects of this file, which `kbr clone` has written
    ///
    /// They are served as in their cluster, with uids, owners, managed fields and status. With `--cluster`, Pods may run on any node, and
    /// volumes are not bound.
    #[arg(long, value_name = "FILE")]
    clone: Option<PathBuf>,
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, visible_alias = "bin-dir", value_name = "DIR")]
    store: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The rest of a cluster.
#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    /// Number of fake nodes [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    nodes: Option<u16>,
    /// Let the API server reach a Service at a port of this machine, for webhooks and conversion; repeatable
    ///
    /// The program on that port must have a certificate for `NAME.NAMESPACE.svc`.
    #[arg(long, value_name = "NAMESPACE/NAME=PORT", value_parser = parse_service)]
    map_service: Vec<(String, u16)>,
}

impl ClusterArgs {
    /// As the options of a cluster, if there is to be one; otherwise fails if any flag is set.
    pub fn of(self, cluster: bool) -> anyhow::Result<Option<Cluster>> {
        if cluster {
            return Ok(Some(self.into_options()));
        }
        let flag = match (self.nodes, self.map_service.is_empty()) {
            (None, true) => return Ok(None),
            (Some(_), _) => "--nodes",
            (None, false) => "--map-service",
        };
        let text = format!("`{flag}` has no effect without `--cluster`");
        let help = format!("add `--cluster`, or leave `{flag}` out");
        Err(Diagnostic::new(text).help(help).into())
    }

    /// As the options of a cluster.
    pub fn into_options(self) -> Cluster {
        Cluster {
            nodes: self.nodes.unwrap_or(1),
            services: self.map_service.into_iter().collect(),
        }
    }
}

fn parse_service(text: &str) -> Result<(String, u16), String> {
    let parsed = text.split_once('=').and_then(|(service, port)| {
        let (namespace, name) = service.split_once('/')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let named = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        named.then(|| (service.to_owned(), port))
    });
    parsed.ok_or_else(|| "write it like `crew-system/crew-webhook=9443`".to_owned())
}

fn version_to_build() -> impl TypedValueParser<Value = &'static Module> {
    PossibleValuesParser::new(modules::versions()).try_map(|version| {
        let found = modules::find(|known| known.to_string() == version);
        found
            .map(|(module, _)| module)
            .ok_or("not a version that kbr builds")
    })
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

/// Runs `kbr envtest`. The exit code is that of the command, if there is one (128 + n for signal n), otherwise 0; it is 2 if a
/// subcommand of setup-envtest failed.
///
/// # Errors
/// The subcommand failed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Build(args) => {
            let store = Store::new(args.store.store)?;
            print_folder(&build::build(&store, args.kubernetes, args.cluster)?)?;
        }
        Command::Path(args) => print_folder(&installed::find(args.store)?)?,
        Command::Use(args) => return Ok(like_setup_envtest(versions::use_version(&args))),
        Command::List(args) => return Ok(like_setup_envtest(versions::list(&args))),
        Command::Cleanup(args) => return Ok(like_setup_envtest(versions::cleanup(&args))),
        Command::Sideload(args) => return Ok(like_setup_envtest(versions::sideload(&args))),
        Command::Version(args) => super::version::run(&args)?,
        Command::Run(args) => return run_command(args),
        Command::Supervisor(args) => supervisor::run(&args.setup)?,
        Command::Exec(args) => return exec_command(args),
    }
    Ok(ExitCode::SUCCESS)
}

/// The exit code is 2 whatever failed: scripts for setup-envtest may compare it.
fn like_setup_envtest(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => super::failed(&error, 2),
    }
}

fn print_folder(assets: &Assets) -> anyhow::Result<()> {
    output::data(&format!("{}\n", assets.folder.display()))
}

fn run_command(args: RunArgs) -> anyhow::Result<ExitCode> {
    let cluster = args.rest.of(args.cluster)?;
    let here = std::env::current_dir().context("cannot find the current folder")?;
    let project = workdir::find_root(&here).ok();
    let bases = project.map(|root| root.join(kbr_manifests::CRDS));
    let bases = bases.filter(|bases| bases.is_dir());
    let start = clones::start(args.clone.as_deref(), cluster.as_ref(), args.store)?;
    run::run(run::Options {
        crds: bases.into_iter().chain(args.crds).collect(),
        keep_logs: args.keep_logs,
        audit: args.audit,
        start_timeout: Duration::from_secs(args.start_timeout),
        assets: start.assets,
        load: start.load,
        cluster,
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
