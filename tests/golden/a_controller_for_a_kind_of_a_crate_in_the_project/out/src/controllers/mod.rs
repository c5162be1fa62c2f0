//! The controllers, one module each.

pub mod kin;
pub mod kith;
// +kbr:scaffold:modules
