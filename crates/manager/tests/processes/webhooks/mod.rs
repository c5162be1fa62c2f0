//! Webhooks that a real API server calls over TLS, through a proxy that distributes calls over replicas.

mod caller;
mod clients;
mod cluster;
mod guests;
mod hostile;
mod lodges;
mod memory;
mod migrated;
mod names;
mod permissions;
mod reviewed;
mod rooms;
mod rotation;
mod site;
mod spread;
mod tests;
mod unreadable;

pub use self::{
    clients::*, cluster::*, guests::main, hostile::*, lodges::lodges_main, memory::*, migrated::*,
    names::*, permissions::*, reviewed::*,
    rooms::the_largest_lists_of_structs_are_answered_or_rejected_within_the_memory_of_a_pod,
    rotation::*, tests::*, unreadable::*,
};
