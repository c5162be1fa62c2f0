//! Tests the operator on a real API server, which `make test` starts, or in a whole cluster, which `make test-cluster` starts.

// +kbr:scaffold:modules
