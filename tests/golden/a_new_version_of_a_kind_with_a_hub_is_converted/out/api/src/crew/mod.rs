//! Group `crew.example.com`.

pub mod v1;
pub mod v2;
pub mod v3;
// +kbr:scaffold:versions
