//! The operator on a real API server: `make test` starts one.

mod crew_pod;
// +kbr:scaffold:modules
