//! How kbr runs other programs. Nothing that a stranger's folder configures is run by git, and a closed standard error ends none of them.

#![allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "on nearly every function, it says nothing about any of them"
)]

pub mod cargo;
pub mod git;
pub mod run;
