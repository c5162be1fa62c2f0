//! What kbr needs of the machine it runs on: its terminal, its files and its signals; and how it writes values.

#![allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "on nearly every function, it says nothing about any of them"
)]

pub mod diagnostic;
pub mod lines;
pub mod notation;
pub mod output;
pub mod owner;
pub mod regular;
pub mod signals;
pub mod yaml;
