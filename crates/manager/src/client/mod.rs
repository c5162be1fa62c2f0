//! The layers of every client of the API server: they limit the time of requests, retry them when the API server asks
//! for that, and end watches whose connection is dead.

pub(crate) mod limit;
pub(crate) mod retry;
mod shared;
pub(crate) mod silence;
