//! Group `tsi.tiduyun.com`.

pub mod v1alpha1;
// +kbr:scaffold:versions
