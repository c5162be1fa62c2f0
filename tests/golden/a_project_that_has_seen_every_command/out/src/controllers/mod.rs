//! The controllers, one module each.

pub mod captain;
pub mod galley_captain;
pub mod httproute;
pub mod mate;
pub mod rollouts;
// +kbr:scaffold:modules
