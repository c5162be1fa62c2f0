//! The webhooks, one file a version of a kind.

pub mod core_v1_pod;
// +kbr:scaffold:modules
