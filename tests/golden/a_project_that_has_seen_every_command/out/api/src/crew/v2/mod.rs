//! Version `v2` of `crew.example.com`.

mod captain;
mod captain_conversion;
// +kbr:scaffold:modules

pub use captain::*;
// +kbr:scaffold:kinds
