//! Webhooks that a real API server calls over TLS, through a proxy that distributes calls over replicas.

mod caller;
mod cluster;
mod guests;
mod hostile;
mod migrated;
mod names;
mod permissions;
mod rotation;
mod site;
mod spread;
mod tests;
mod unreadable;

pub use self::{
    cluster::*, guests::main, hostile::*, migrated::*, names::*, permissions::*, rotation::*,
    tests::*, unreadable::*,
};
