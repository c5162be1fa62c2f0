//! The controllers, each in its own module.

pub mod context;
// +kbr:scaffold:modules
