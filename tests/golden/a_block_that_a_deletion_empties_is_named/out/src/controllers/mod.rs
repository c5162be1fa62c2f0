//! The controllers, each in its own module.

// +kbr:scaffold:modules
