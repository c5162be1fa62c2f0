//! Controllers: their registration, the triggers of reconciles, the work queue, and the reconcile itself.

pub(crate) mod action;
pub(crate) mod appointments;
mod configured;
pub(crate) mod context;
pub(crate) mod core;
pub(crate) mod draft;
pub(crate) mod events;
pub(crate) mod names;
mod objects;
mod optional;
pub(crate) mod outcome;
mod parts;
pub mod predicate;
pub(crate) mod queue;
pub(crate) mod reconcile;
pub(crate) mod registration;
mod rendered;
pub(crate) mod retry;
pub(crate) mod source;
pub(crate) mod state;
mod status;
pub(crate) mod timer;
mod timing;
pub(crate) mod trigger;
pub(crate) mod watched;
pub(crate) mod worker;
