//! Version `v1` of `galley.example.com`.

mod captain;
// +kbr:scaffold:modules

pub use captain::*;
// +kbr:scaffold:kinds
