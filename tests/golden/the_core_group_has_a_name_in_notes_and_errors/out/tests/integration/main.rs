//! Tests the operator on a real API server, which `make test` starts.

mod crew_pod;
// +kbr:scaffold:modules
