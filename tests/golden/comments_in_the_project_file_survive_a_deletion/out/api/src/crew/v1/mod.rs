//! Version `v1` of `crew.example.com`.

mod admiral;
// +kbr:scaffold:modules

pub use admiral::*;
// +kbr:scaffold:kinds
