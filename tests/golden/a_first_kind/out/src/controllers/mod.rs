//! The controllers, each in its own module.

pub mod captain;
// +kbr:scaffold:modules
