//! `kbr envtest`: a real etcd and kube-apiserver to test against, without a cluster.
//!
//! `build` builds the binaries from source into the store of setup-envtest (`assets`). `run` starts a control
//! plane (`control_plane`) through a supervisor process (`supervisor`), which tears it down even if kbr is killed.

pub mod apply;
pub mod assets;
pub mod build;
pub mod certificates;
pub mod control;
pub mod control_plane;
pub mod crds;
mod egress;
pub mod exec;
pub mod folder;
mod go;
pub mod kubeconfig;
mod logs;
mod nodes;
pub mod run;
pub mod servers;
pub mod start;
pub mod supervisor;

use crate::output;

/// Reports progress on stderr, in the format of the scaffolder's reports.
pub fn progress(verb: &str, what: &str) {
    output::message(format_args!("{verb:>12} {what}"));
}
