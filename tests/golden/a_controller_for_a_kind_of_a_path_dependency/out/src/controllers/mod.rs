//! The controllers, each in its own module.

pub mod kin;
pub mod kith;
// +kbr:scaffold:modules
