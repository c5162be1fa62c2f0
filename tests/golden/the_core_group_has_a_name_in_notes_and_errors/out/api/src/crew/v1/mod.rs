//! Version `v1` of `crew.example.com`.

mod pod;
// +kbr:scaffold:modules

pub use pod::*;
// +kbr:scaffold:kinds
