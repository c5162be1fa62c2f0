//! Tests the operator on a real API server, which `make test` starts.

mod ecsbinding;
// +kbr:scaffold:modules
