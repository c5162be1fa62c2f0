//! The controllers, one module each.

// +kbr:scaffold:modules
