//! The controllers, each in its own module.

pub mod ipallocation;
pub mod ipclaim;
pub mod ippool;
// +kbr:scaffold:modules
