//! `kbr envtest`, with the real servers where necessary and with scripts otherwise.

#![allow(missing_docs, reason = "tests")]

mod build;
mod end;
mod place;
mod run;
mod start;
