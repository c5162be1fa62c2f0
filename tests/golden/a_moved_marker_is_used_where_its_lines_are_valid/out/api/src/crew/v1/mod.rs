//! Version `v1` of `crew.example.com`.

mod captain;
mod mate;
// +kbr:scaffold:modules

pub use captain::*;
pub use mate::*;
// +kbr:scaffold:kinds
