//! `kbr dev`: arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::dev::{self, Options};

/// Run the operator locally with its own API server, and restart it whenever a source changes
///
/// Starts etcd and kube-apiserver on free ports of the loopback, like `kbr envtest run`. Then, and after each change, it generates
/// the manifests, installs the CRDs, builds and starts the operator, and lets the API server call its webhooks. If the build
/// fails, the running operator is left alone. The operator runs as its service account, with exactly the permissions that
/// `config/default` grants. To use the API server in another terminal, run the printed line
/// `export KUBECONFIG=…` there. Ctrl-C stops everything and discards the objects in the API server.
///
/// With `ENABLE_WEBHOOKS=false` the API server does not call webhooks, and kinds are not converted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Use the cluster in your kubeconfig and install nothing there: like `make run` after each change
    #[arg(long)]
    use_existing_cluster: bool,
    /// Timeout for the servers to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Folder of the binaries [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
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
    dev::run(Options {
        use_existing_cluster: args.use_existing_cluster,
        start_timeout: Duration::from_secs(args.start_timeout),
        store: args.store,
        operator: args.operator,
    })
}
