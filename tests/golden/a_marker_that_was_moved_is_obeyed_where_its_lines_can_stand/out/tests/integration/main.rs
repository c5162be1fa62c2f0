//! The operator on a real API server: `make test` starts one.

mod captain;
mod mate;
// +kbr:scaffold:modules
