//! The controllers, one module each.

pub mod ecsbinding;
// +kbr:scaffold:modules
