//! `kbr envtest`: a real etcd and kube-apiserver to test against, without a cluster.
//!
//! `build` builds the binaries from source into the store of setup-envtest (`assets`), and `provide` downloads them: it chooses a
//! version (`selector`, `index`), downloads (`download`) and unpacks (`archive`) it, and adds it to the store (`install`). `run`
//! starts a control plane (`control_plane`) through a supervisor process (`supervisor`), which tears it down even if kbr is killed.

#![allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "on nearly every function, it says nothing about any of them"
)]

mod address;
pub mod apply;
mod archive;
pub mod assets;
mod audit;
pub mod build;
pub mod certificates;
pub mod client;
pub mod cluster;
pub mod control;
pub mod control_plane;
pub mod crds;
mod download;
mod egress;
pub mod exec;
pub mod folder;
#[cfg(test)]
#[path = "../../../tests/fuzz/driver.rs"]
mod fuzz;
mod go;
mod http;
pub mod index;
pub mod install;
pub mod installed;
pub mod kubeconfig;
mod logs;
pub mod modules;
mod nodes;
pub mod or_build;
pub mod platform;
pub mod provide;
mod receive;
mod relay;
pub mod run;
pub mod selector;
pub mod servers;
pub mod start;
pub mod supervisor;
pub mod work;

use kbr_host::output;

/// Reports progress on stderr, in the format of the scaffolder's reports.
pub fn progress(verb: &str, what: &str) {
    output::message(format_args!("{verb:>12} {what}"));
}
