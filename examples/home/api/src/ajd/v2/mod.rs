//! Version `v2` of `ajd.my.domain`.

mod home;
// +kbr:scaffold:modules

pub use home::*;
// +kbr:scaffold:kinds
