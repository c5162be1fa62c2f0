//! A real etcd and kube-apiserver to test against, or a whole cluster, without containers.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kbr_envtest::Envtest;
//!
//! let env = Envtest::builder().crds("config/crd/bases").start()?;
//! // With kube: `Kubeconfig::from_yaml(&env.kubeconfig_text())`, then `Config::from_custom_kubeconfig`.
//! let crds = env.kubectl().args(["get", "crds"]).output()?;
//! assert!(crds.status.success());
//! // Dropping `env` stops the servers and removes their folder.
//! # Ok(())
//! # }
//! ```
//!
//! The programs are those in `KUBEBUILDER_ASSETS`, or in the store of setup-envtest: `kbr envtest build`, `kbr envtest use` and
//! `setup-envtest use` put them there. Those of [a cluster](Builder::cluster) are built by `kbr envtest build --cluster`. If the tests
//! are killed, even by SIGKILL, the servers end and their folder vanishes. Each [`Envtest`] is an API server of its own, which listens
//! on the loopback and is accessible to this user only.
//!
//! The tests of a program can share one in a static, which is never dropped: its servers end with the program.
//!
//! [`Builder::start`] blocks: in an async test whose runtime does other things meanwhile, call it in `spawn_blocking`.
//! CRDs whose conversion is a webhook behind a Service are installed without conversion, because nothing serves it.
//! [`Envtest`], [`Builder`] and [`Error`] are the interface for other projects; the modules belong to kbr.
//!
//! # How kbr uses it
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
pub mod egress;
mod envtest;
pub mod etcd;
pub mod exec;
pub mod folder;
#[cfg(test)]
#[path = "../../../tests/fuzz/driver.rs"]
mod fuzz;
mod garbage;
mod go;
mod http;
pub mod index;
pub mod install;
pub mod installed;
pub mod kubeconfig;
pub mod logs;
pub mod modules;
pub mod nodes;
mod options;
pub mod or_build;
pub mod platform;
mod progress;
pub mod provide;
mod receive;
mod relay;
pub mod run;
pub mod selector;
pub mod servers;
pub mod setup;
mod stages;
pub mod start;
pub mod supervision;
pub mod supervisor;
pub mod work;

pub use envtest::{Builder, Envtest, Error};
pub use progress::{Progress, progress};
