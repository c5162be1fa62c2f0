//! The controllers, each in its own module.

pub mod crew_pod;
pub mod pod;
// +kbr:scaffold:modules
