//! The controllers, one module each.

pub mod deployment;
// +kbr:scaffold:modules
