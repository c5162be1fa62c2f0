//! Writes to the API server: children, status, finalizers, and a controller's memory of its own writes.

pub(crate) mod applied;
pub(crate) mod apply;
pub(crate) mod carried;
pub(crate) mod child;
pub(crate) mod condition;
pub(crate) mod core;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod difference;
pub(crate) mod draft;
pub(crate) mod error;
pub(crate) mod finalizer;
pub(crate) mod gone;
pub(crate) mod kind;
pub(crate) mod known;
pub(crate) mod mark;
pub(crate) mod own;
pub(crate) mod serialized;
pub(crate) mod status;
pub(crate) mod takeover;
pub(crate) mod target;
pub(crate) mod tries;
pub(crate) mod update;
