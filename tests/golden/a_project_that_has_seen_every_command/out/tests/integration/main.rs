//! The operator on a real API server: `make test` starts one.

mod captain;
mod galley_captain;
mod mate;
// +kbr:scaffold:modules
