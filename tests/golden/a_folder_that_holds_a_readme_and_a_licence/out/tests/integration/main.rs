//! The operator on a real API server: `make test` starts one.

// +kbr:scaffold:modules
