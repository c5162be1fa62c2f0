//! Version `v1` of `ajd.my.domain`.

mod home;
mod home_conversion;
// +kbr:scaffold:modules

pub use home::*;
// +kbr:scaffold:kinds
