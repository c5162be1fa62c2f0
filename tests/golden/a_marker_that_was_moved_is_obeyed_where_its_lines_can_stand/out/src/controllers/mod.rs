//! The controllers, one module each.

pub mod captain;
pub mod mate;
// +kbr:scaffold:modules
