//! Version `v1` of `batch.tutorial.kubebuilder.io`.

mod cronjob;
// +kbr:scaffold:modules

pub use cronjob::*;
// +kbr:scaffold:kinds
