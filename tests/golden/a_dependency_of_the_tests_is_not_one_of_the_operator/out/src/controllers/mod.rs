//! The controllers, one module each.

pub mod httproute;
// +kbr:scaffold:modules
