//! The controllers, one module each.

pub mod captain;
pub mod galley_captain;
// +kbr:scaffold:modules
