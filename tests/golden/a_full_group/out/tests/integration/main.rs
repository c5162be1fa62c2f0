//! Tests the operator on a real API server, which `make test` starts.

mod at;
// +kbr:scaffold:modules
