//! Version `v1` of `hopegi.com`.

mod ecsbinding;
// +kbr:scaffold:modules

pub use ecsbinding::*;
// +kbr:scaffold:kinds
