//! Group `samplecontroller.c9g.io`.

pub mod v1alpha1;
// +kbr:scaffold:versions
