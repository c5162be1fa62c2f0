//! The controllers, each in its own module.

pub mod captain;
pub mod mate;
// +kbr:scaffold:modules
