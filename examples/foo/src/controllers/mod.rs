//! The controllers, each in its own module.

pub mod foo;
// +kbr:scaffold:modules
