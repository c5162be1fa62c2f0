//! Version `v1` of `crew.example.com`.

mod admiral;
mod captain;
// +kbr:scaffold:modules

pub use admiral::*;
pub use captain::*;
// +kbr:scaffold:kinds
