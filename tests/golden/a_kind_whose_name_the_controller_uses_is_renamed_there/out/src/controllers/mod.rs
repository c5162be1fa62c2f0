//! The controllers, one module each.

pub mod context;
// +kbr:scaffold:modules
