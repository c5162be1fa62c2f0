//! The controllers, each in its own module.

pub mod home;
// +kbr:scaffold:modules
