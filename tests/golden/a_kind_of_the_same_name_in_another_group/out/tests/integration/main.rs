//! The operator on a real API server: `make test` starts one.

mod captain;
mod galley_captain;
// +kbr:scaffold:modules
