//! Group `webapp.my.domain`.

pub mod v1;
// +kbr:scaffold:versions
