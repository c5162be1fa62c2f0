//! Group `batch.tutorial.kubebuilder.io`.

pub mod v1;
// +kbr:scaffold:versions
