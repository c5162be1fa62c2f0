//! Version `v1` of `crew.example.com`.

mod captain;
// +kbr:scaffold:modules

pub use captain::*;
// +kbr:scaffold:kinds
