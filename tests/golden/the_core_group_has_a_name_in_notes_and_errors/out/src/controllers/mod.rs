//! The controllers, one module each.

pub mod crew_pod;
pub mod pod;
// +kbr:scaffold:modules
