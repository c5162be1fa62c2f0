//! Group `galley.example.com`.

pub mod v1;
// +kbr:scaffold:versions
