//! Scaffolds, extends and upgrades operator projects. Data flows one way: tables of PROJECT -> blueprint -> difference -> changes -> commit.
//!
//! No process, no network. Templates are data of the caller: [`release::Release`].

#![allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "on nearly every function, it says nothing about any of them"
)]

pub mod blueprint;
pub mod cargo_lock;
pub mod changes;
#[cfg(test)]
mod checkout;
pub mod commit;
pub mod contents;
pub mod edit;
pub mod edited;
pub mod existing;
#[cfg(test)]
#[path = "../../../tests/fuzz/driver.rs"]
mod fuzz;
pub mod golang;
pub mod imported;
pub mod install;
pub mod library;
#[cfg(any(test, feature = "faults"))]
pub mod predecessor;
pub mod project;
pub mod quote;
pub mod release;
pub mod resource;
pub mod rust;
pub mod scaffold;
mod tables;
pub mod trust;
pub mod upgrade;
pub mod vars;
pub mod workdir;
pub mod yaml;
