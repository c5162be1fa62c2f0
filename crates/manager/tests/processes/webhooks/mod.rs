//! Webhooks that a real API server calls over TLS, through a proxy that spreads calls over replicas.

mod guests;
mod keeping;
mod rights;
mod site;
mod spread;
mod tests;

pub use self::{guests::main, keeping::*, rights::*, tests::*};
