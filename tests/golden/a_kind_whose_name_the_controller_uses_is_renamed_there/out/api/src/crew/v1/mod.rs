//! Version `v1` of `crew.example.com`.

mod context;
// +kbr:scaffold:modules

pub use context::*;
// +kbr:scaffold:kinds
