//! What every client of the API server does with a request: it gives it a time limit.

pub(crate) mod limit;
