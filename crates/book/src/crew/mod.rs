//! Group `crew.example.com`, which the pages use.

pub mod v1;
pub mod v2;
