//! The operator on a real API server: `make test` starts one.

mod admiral;
mod captain;
// +kbr:scaffold:modules
