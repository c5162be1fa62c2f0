//! The operator on a real API server: `make test` starts one.

mod at;
// +kbr:scaffold:modules
