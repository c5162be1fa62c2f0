//! Version `v1` of `webapp.my.domain`.

mod guestbook;
// +kbr:scaffold:modules

pub use guestbook::*;
// +kbr:scaffold:kinds
