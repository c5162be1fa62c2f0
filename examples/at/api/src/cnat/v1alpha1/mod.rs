//! Version `v1alpha1` of `cnat.programming-kubernetes.info`.

mod at;
// +kbr:scaffold:modules

pub use at::*;
// +kbr:scaffold:kinds
