//! What every client of the API server does with a request: it limits its time, repeats it when the API server asks for that, and ends
//! a watch whose connection is dead.

pub(crate) mod limit;
pub(crate) mod retry;
pub(crate) mod silence;
