//! `kbr dev`: arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::clones;
use super::envtest::ClusterArgs;
use super::prompt;
use crate::dev::{self, Agrees, Options};

/// Run the operator locally with its own API server, and restart it whenever a source changes
///
/// Starts etcd and kube-apiserver on free ports of the loopback, like `kbr envtest run`. Then, and after each change, it builds the
/// operator, generates the manifests, installs the CRDs, starts the operator, and lets the API server call its webhooks. If the build
/// fails, the running operator is left alone. The operator runs as its service account, with exactly the permissions that
/// `config/default` grants. To use the API server in another terminal, run the printed line
/// `export KUBECONFIG=…` there. Ctrl-C stops everything and discards the objects in the API server, unless you pass `--keep`.
///
/// What loses its owners is deleted, as in a cluster. With `--cluster`, Deployments are rolled out and Jobs end, too, as in
/// `kbr envtest run --cluster`.
///
/// On a terminal, a screen shows the operator, the last build, the operator's objects and what they own, events, and errors; the
/// last line lists the keys. Otherwise, or with `--plain`, kbr prints lines.
///
/// With `ENABLE_WEBHOOKS=false` the API server does not call webhooks, and kinds are not converted.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Args {
    /// Use the cluster in your kubeconfig and install nothing there: like `make run` after each change
    #[arg(long)]
    use_existing_cluster: bool,
    /// Take the Lease of the operator that is deployed in that cluster, and give it back at the end
    ///
    /// Without this flag, kbr asks if a deployed operator leads. It takes no Lease if the operator runs with `--leader-elect`.
    #[arg(long, requires = "use_existing_cluster")]
    take_lease: bool,
    /// Start a whole cluster, not only an API server
    #[arg(long, conflicts_with = "use_existing_cluster")]
    cluster: bool,
    #[command(flatten)]
    rest: ClusterArgs,
    /// Keep the objects of the cluster for the next run
    ///
    /// They are in the cluster `dev-<project>`; `kbr cluster stop dev-<project> --delete` removes them.
    #[arg(long, requires = "cluster")]
    keep: bool,
    /// Begin with the objects of this file, which `kbr clone` has written: production's state on this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["use_existing_cluster", "keep"])]
    clone: Option<PathBuf>,
    /// Apply the samples in config/samples once the operator runs, and again when they change
    #[arg(long, conflicts_with = "use_existing_cluster")]
    samples: bool,
    /// Print lines, even on a terminal
    #[arg(long)]
    plain: bool,
    /// Timeout for the servers to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, visible_alias = "bin-dir", value_name = "DIR")]
    store: Option<PathBuf>,
    /// Flags for the operator
    #[arg(last = true, value_name = "ARGS")]
    operator: Vec<OsString>,
}

/// Runs until a signal ends it; the exit code is that of [`dev::run`].
///
/// # Errors
/// As [`dev::run`].
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.rest.of(args.cluster)?;
    let start = if args.use_existing_cluster || args.keep {
        None
    } else {
        let clone = args.clone.as_deref();
        Some(clones::start(clone, cluster.as_ref(), args.store.clone())?)
    };
    let flags = args.operator.iter().filter_map(|it| it.to_str());
    let elects = flags
        .into_iter()
        .any(|it| it.starts_with("--leader-elect") && it != "--leader-elect=false");
    let (assets, load) = start.map(|it| (it.assets, it.load)).unzip();
    dev::run(Options {
        assets,
        load: load.flatten(),
        cluster,
        keep: args.keep,
        samples: args.samples,
        plain: args.plain,
        use_existing_cluster: args.use_existing_cluster,
        agrees: (!elects).then(|| agrees(args.take_lease)),
        start_timeout: Duration::from_secs(args.start_timeout),
        store: args.store,
        operator: args.operator,
    })
}

/// Whether the user agrees to take the Lease of the operator that leads.
fn agrees(taken: bool) -> Agrees {
    Box::new(move |question| {
        let help = "pass --take-lease, or scale the Deployment of the operator to 0";
        Ok(taken || prompt::yes_or_no(question, false, help)?)
    })
}
