//! The webhooks, one file a version of a kind.

pub mod crew_v2_captain;
// +kbr:scaffold:modules
