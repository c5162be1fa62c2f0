//! The controllers, each in its own module.

pub mod cronjob;
mod jobs;
// +kbr:scaffold:modules
