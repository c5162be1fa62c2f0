//! The controllers, each in its own module.

pub mod ecsbinding;
// +kbr:scaffold:modules
