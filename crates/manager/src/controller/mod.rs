//! Controllers: the triggers of reconciles, the workers, and the reconcile itself.

pub(crate) mod action;
pub(crate) mod context;
pub(crate) mod events;
pub(crate) mod kind;
mod objects;
pub(crate) mod outcome;
pub mod predicate;
pub(crate) mod reconcile;
mod rendered;
pub(crate) mod retry;
pub(crate) mod source;
pub(crate) mod state;
mod status;
pub(crate) mod trigger;
pub(crate) mod worker;
