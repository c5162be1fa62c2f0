//! Small operators with one bug each, which the simulation finds, and their repaired twins, which it does not suspect.
//!
//! A reconcile has a constant `BUGGY`, so that the two differ in nothing else.

mod anvil;
mod believed;
mod conversion;
mod crash;
mod defects;
mod deletion;
mod documented;
mod explored;
mod external;
mod failover;
mod features;
mod fleet;
mod kinds;
mod lagging;
mod overtaken;
mod owned;
mod parts;
mod plain;
mod refused;
mod reported;
mod rest;
#[cfg(feature = "cel")]
mod rules;
mod same;
mod schedule;
mod spec;
mod stale;
mod story;
mod surroundings;
mod waiting;
mod webhooks;
