//! Group `hopegi.com`.

pub mod v1;
// +kbr:scaffold:versions
