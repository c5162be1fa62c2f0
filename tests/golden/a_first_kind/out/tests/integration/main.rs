//! The operator on a real API server: `make test` starts one.

mod captain;
// +kbr:scaffold:modules
