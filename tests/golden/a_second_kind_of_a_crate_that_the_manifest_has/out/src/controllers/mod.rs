//! The controllers, one module each.

pub mod gateway;
pub mod httproute;
// +kbr:scaffold:modules
