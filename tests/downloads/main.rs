//! `kbr envtest use`, `list`, `cleanup` and `sideload`, with an index and archives on a server of the test.

#![allow(missing_docs, reason = "tests")]

mod archives;
mod build;
mod https;
mod network;
mod place;
mod resumed;
mod rows;
mod same_answers;
mod server;
mod setup_envtest;
mod wrong;
