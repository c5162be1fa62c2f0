//! The webhooks, one file a version of a kind.

pub mod crew_v1_captain;
// +kbr:scaffold:modules
