//! The controllers, each in its own module.

pub mod guestbook;
// +kbr:scaffold:modules
