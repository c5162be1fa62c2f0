//! Tests the operator on a real API server, which `make test` starts.

mod admiral;
mod captain;
// +kbr:scaffold:modules
