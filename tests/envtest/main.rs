//! `kbr envtest`, with real servers where necessary and fake ones otherwise.

#![allow(missing_docs, reason = "tests")]

mod audit;
mod build;
mod cluster;
mod clusters;
mod end;
mod place;
mod private;
mod run;
mod start;
