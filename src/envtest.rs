//! `kbr envtest`: a real etcd and kube-apiserver to test against, without a cluster.
//!
//! The binaries lie in the store of setup-envtest (`assets`), built from source by `build`. `run` starts a control
//! plane (`control_plane`) through a guard process (`guard`), which tears it down however kbr ends.

pub mod apply;
pub mod assets;
pub mod build;
pub mod certificates;
pub mod control_plane;
pub mod crds;
pub mod exec;
mod folder;
pub mod guard;
mod logs;
pub mod run;
pub mod servers;

use crate::output;

/// Tells the user on stderr what is being done, in the form of the scaffolder's reports.
pub fn say(verb: &str, what: &str) {
    output::message(format_args!("{verb:>12} {what}"));
}
