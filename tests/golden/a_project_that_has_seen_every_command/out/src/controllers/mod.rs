//! The controllers, each in its own module.

pub mod captain;
pub mod galley_captain;
pub mod httproute;
pub mod mate;
pub mod rollouts;
// +kbr:scaffold:modules
