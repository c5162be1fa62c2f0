//! Group `crew.example.com`.

pub mod v1;
pub mod v2;
// +kbr:scaffold:versions
