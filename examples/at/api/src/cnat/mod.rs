//! Group `cnat.programming-kubernetes.info`.

pub mod v1alpha1;
// +kbr:scaffold:versions
