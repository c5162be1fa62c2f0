//! The command line itself: arguments of any bytes, and closed output.

#![allow(missing_docs, reason = "tests")]

mod arguments;
mod growth;
mod import;
mod imported;
mod mistakes;
mod output;
mod platforms;
#[path = "../support/mod.rs"]
mod support;
mod umask;
