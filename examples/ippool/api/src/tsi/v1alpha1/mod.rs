//! Version `v1alpha1` of `tsi.tiduyun.com`.

mod ipallocation;
mod ipclaim;
mod ippool;
// +kbr:scaffold:modules

pub use ipallocation::*;
pub use ipclaim::*;
pub use ippool::*;
// +kbr:scaffold:kinds
