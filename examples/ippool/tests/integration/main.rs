//! Tests the operator on a real API server, which `make test` starts, or in a whole cluster, which `make test-cluster` starts.

mod ipallocation;
mod ipclaim;
mod ippool;
mod pools;
mod third_party;
// +kbr:scaffold:modules
