//! The verdicts of `kbr manifests compare` about pairs of definitions, next to those of a real API server and of crdify.

#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/mod.rs"]
mod support;

mod against;
mod pairs;
mod project;
mod server;
mod verdicts;
