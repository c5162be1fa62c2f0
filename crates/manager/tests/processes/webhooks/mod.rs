//! Webhooks that a real API server calls over TLS, through a proxy that spreads calls over replicas.

mod caller;
mod guests;
mod hostile;
mod keeping;
mod names;
mod rights;
mod site;
mod spread;
mod tests;

pub use self::{guests::main, hostile::*, keeping::*, names::*, rights::*, tests::*};
