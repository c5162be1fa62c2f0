//! The operator on a real API server: `make test` starts one.

mod captain;
mod captain_backup;
// +kbr:scaffold:modules
