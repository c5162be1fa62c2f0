//! The latest known objects: one store for each kind and scope. It is filled by a watch, shared by all controllers, and
//! read without requests.

mod ahead;
pub(crate) mod caches;
mod course;
mod fill;
mod follow;
pub(crate) mod index;
mod initial;
pub(crate) mod lenient;
pub(crate) mod object;
pub(crate) mod presence;
mod progress;
pub(crate) mod reader;
pub(crate) mod report;
pub(crate) mod shape;
mod state;
pub(crate) mod store;
pub(crate) mod stripped;
mod trouble;
mod written;

#[cfg(test)]
mod tests;
