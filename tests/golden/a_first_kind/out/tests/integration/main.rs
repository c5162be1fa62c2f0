//! Tests the operator on a real API server, which `make test` starts.

mod captain;
// +kbr:scaffold:modules
