//! The operator on a real API server: `make test` starts one.

mod ecsbinding;
// +kbr:scaffold:modules
