//! Tests the operator on a real API server, which `make test` starts.

mod captain;
mod captain_backup;
// +kbr:scaffold:modules
