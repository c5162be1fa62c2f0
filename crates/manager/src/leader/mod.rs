//! Leader election, the fence that rejects writes once the lease has expired, and the watchdog that then ends the
//! process.

pub(crate) mod clock;
pub(crate) mod election;
pub(crate) mod fence;
pub(crate) mod watchdog;
