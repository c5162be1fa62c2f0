//! `kbr envtest`, with the real servers where it matters and with scripts in their place where it does not.

#![allow(missing_docs, reason = "tests")]

mod build;
mod end;
mod place;
mod run;
mod start;
