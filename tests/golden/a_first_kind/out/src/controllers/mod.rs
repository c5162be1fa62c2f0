//! The controllers, one module each.

pub mod captain;
// +kbr:scaffold:modules
