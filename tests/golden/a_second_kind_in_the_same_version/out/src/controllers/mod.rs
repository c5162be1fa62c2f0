//! The controllers, each in its own module.

pub mod admiral;
pub mod captain;
// +kbr:scaffold:modules
