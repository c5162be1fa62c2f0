//! Tests the operator on a real API server, which `make test` starts.

// +kbr:scaffold:modules
