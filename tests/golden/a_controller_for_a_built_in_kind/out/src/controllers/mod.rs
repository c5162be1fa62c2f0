//! The controllers, each in its own module.

pub mod deployment;
// +kbr:scaffold:modules
