//! What the API server said last: one store a kind and scope, filled by a watch, shared by all controllers and read without a request.

pub(crate) mod index;
pub(crate) mod object;
pub(crate) mod reader;
pub(crate) mod store;
pub(crate) mod stripped;
