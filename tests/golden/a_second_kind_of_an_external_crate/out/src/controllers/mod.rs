//! The controllers, each in its own module.

pub mod gateway;
pub mod httproute;
// +kbr:scaffold:modules
