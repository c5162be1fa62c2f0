//! The controllers, each in its own module.

pub mod captain;
pub mod galley_captain;
// +kbr:scaffold:modules
