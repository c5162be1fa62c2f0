//! The controllers, each in its own module.

pub mod at;
// +kbr:scaffold:modules
