//! Tests the operator on a real API server, which `make test` starts.

mod captain;
mod mate;
// +kbr:scaffold:modules
