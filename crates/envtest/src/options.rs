//! How a control plane or a cluster starts.

use std::path::Path;
use std::time::Duration;

use super::Progress;
use super::egress::Services;
use super::supervision::Supervision;
use kbr_host::signals::Stop;

/// How to start the servers.
#[derive(Debug)]
pub struct Options<'a> {
    /// The folder of the logs; without it, they are removed with the servers' folder.
    pub logs: Option<&'a Path>,
    /// The audit log of kube-apiserver, if it is to write one. Absolute.
    pub audit: Option<&'a Path>,
    /// How long the servers may take to become ready.
    pub limit: Duration,
    /// Ends the wait with an error.
    pub stop: &'a Stop,
    /// The cluster around the control plane, if it is to be a whole one.
    pub cluster: Option<&'a Cluster>,
    /// Whether the objects of another cluster are put into etcd. What acts on them starts then, by
    /// [`start_controllers`](super::start::start_controllers) and [`ControlPlane::collect_garbage`](super::control_plane::ControlPlane::collect_garbage).
    pub clone: bool,
    /// Whether the start is reported.
    pub progress: Progress,
    /// The supervisors of the servers.
    pub supervision: Supervision,
}

/// The rest of a cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The number of fake nodes.
    pub nodes: u16,
    /// The Services that are programs of this machine.
    pub services: Services,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            nodes: 1,
            services: Services::new(),
        }
    }
}
