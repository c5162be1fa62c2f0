//! One leader: the election, the fence that stops the writes of a process whose lease has expired, and the watchdog that ends it.

pub(crate) mod clock;
pub(crate) mod election;
pub(crate) mod fence;
pub(crate) mod watchdog;
