//! The controllers, each in its own module.

pub mod httproute;
// +kbr:scaffold:modules
