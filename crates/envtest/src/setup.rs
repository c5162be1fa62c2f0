//! What a control plane or cluster is started with.

use std::path::PathBuf;

/// The parameters of the servers of one control plane or cluster; also the command line of the supervisor.
#[derive(Debug, Clone, clap::Args)]
pub struct Setup {
    /// The folder of the programs.
    #[arg(long)]
    pub assets: PathBuf,
    /// The folder of this control plane: certificates, data, kubeconfig.
    #[arg(long)]
    pub folder: PathBuf,
    /// The folder of the logs.
    #[arg(long)]
    pub logs: PathBuf,
    /// The audit log of kube-apiserver, if it writes one.
    #[arg(long)]
    pub audit: Option<PathBuf>,
    /// The port on which etcd serves clients.
    #[arg(long)]
    pub etcd_port: u16,
    /// The port on which etcd serves peers; there are none.
    #[arg(long)]
    pub peer_port: u16,
    /// The port on which kube-apiserver serves HTTPS.
    #[arg(long)]
    pub port: u16,
    /// The name of the context, cluster and user in its kubeconfig.
    #[arg(long)]
    pub context: String,
    /// Whether it is a whole cluster.
    #[arg(long)]
    pub cluster: bool,
    /// Whether etcd also takes objects from kbr, those of a cluster that is cloned.
    #[arg(long)]
    pub clone: bool,
    /// Whether the folder is kept when the servers stop.
    #[arg(long)]
    pub keep: bool,
}
