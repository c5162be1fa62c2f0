//! The controllers, one module each.

pub mod captain;
pub mod captain_backup;
// +kbr:scaffold:modules
