//! The controllers, one module each.

pub mod at;
// +kbr:scaffold:modules
