//! The options of `kbr dev`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use kbr_envtest::assets::Assets;
use kbr_envtest::run::Load;
use kbr_envtest::start;

/// Answers a question.
pub type Agrees = Box<dyn FnOnce(&str) -> anyhow::Result<bool>>;

/// Options for running the operator.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Options {
    /// Against the cluster of the kubeconfig, where nothing is installed.
    pub use_existing_cluster: bool,
    /// Asks whether to take the Lease of the deployed operator; without it, it is not taken.
    pub agrees: Option<Agrees>,
    /// The rest of a cluster, if the operator is to have more than an API server.
    pub cluster: Option<start::Cluster>,
    /// The programs of the servers, if their data is not kept.
    pub assets: Option<Assets>,
    /// What puts the objects of another cluster into the new one.
    pub load: Option<Load>,
    /// Whether the cluster keeps its data for the next run.
    pub keep: bool,
    /// Whether to apply the samples.
    pub samples: bool,
    /// Whether to print lines even on a terminal.
    pub plain: bool,
    /// Timeout for the servers to become ready.
    pub start_timeout: Duration,
    /// The store of their binaries, if not setup-envtest's.
    pub store: Option<PathBuf>,
    /// Flags for the operator.
    pub operator: Vec<OsString>,
}
