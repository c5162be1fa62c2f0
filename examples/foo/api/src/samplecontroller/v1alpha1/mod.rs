//! Version `v1alpha1` of `samplecontroller.c9g.io`.

mod foo;
// +kbr:scaffold:modules

pub use foo::*;
// +kbr:scaffold:kinds
