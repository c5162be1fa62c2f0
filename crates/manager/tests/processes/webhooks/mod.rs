//! Webhooks that a real API server calls over TLS, through a proxy that distributes calls over replicas.

mod caller;
mod clients;
mod cluster;
mod guests;
mod hostile;
mod memory;
mod migrated;
mod names;
mod permissions;
mod reviewed;
mod rotation;
mod site;
mod spread;
mod tests;
mod unreadable;

pub use self::{
    clients::*, cluster::*, guests::main, hostile::*, memory::*, migrated::*, names::*,
    permissions::*, reviewed::*, rotation::*, tests::*, unreadable::*,
};
