//! The operator on a real API server: `make test` starts one.

mod context;
// +kbr:scaffold:modules
