//! The controllers, one module each.

pub mod admiral;
pub mod captain;
// +kbr:scaffold:modules
