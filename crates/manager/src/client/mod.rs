//! What every client of the API server does with a request: it gives it a time limit, and repeats it when asked to.

pub(crate) mod limit;
pub(crate) mod retry;
