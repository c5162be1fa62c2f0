//! The controllers, each in its own module.

pub mod captain_backup;
// +kbr:scaffold:modules
