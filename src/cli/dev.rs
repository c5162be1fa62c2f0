//! `kbr dev`: arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::dev::{self, Options};

/// Run the operator here, with an API server of its own, and again whenever a source changes
///
/// Starts etcd and kube-apiserver on free ports of the loopback, as `kbr envtest run` does. Then, and after each change: generates
/// the manifests, installs the CRDs, builds the operator, starts it, and has the API server call its webhooks. While the code
/// is wrong, the operator that runs goes on. In another terminal, use what it prints: `export KUBECONFIG=…`.
/// Ctrl-C ends it all, and what was in the API server is gone.
///
/// With `ENABLE_WEBHOOKS=false` nobody calls the webhooks, and kinds are not converted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run it against the cluster of your kubeconfig, and install nothing there: what `make run` does, with each change
    #[arg(long)]
    use_existing_cluster: bool,
    /// How long the servers may take to be ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Where their binaries are kept [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// What is passed to the operator
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
