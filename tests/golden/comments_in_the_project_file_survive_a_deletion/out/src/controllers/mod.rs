//! The controllers, each in its own module.

pub mod admiral;
// +kbr:scaffold:modules
