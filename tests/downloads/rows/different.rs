//! Rows with other answers, which `docs/envtest.md` lists.

use super::Row;

/// The row with the answer of setup-envtest, and kbr's exit code and standard output. They need no server.
pub const ROWS: &[(Row, i32, &str)] = &[
    (("use v1.36.0", 1, ""), 2, ""),
    (("use 1.x", 1, ""), 2, ""),
    (
        (
            "KUBEBUILDER_ASSETS=/none/1.35.9-linux-amd64 use --use-env -p path 1.36",
            0,
            "/none/1.35.9-linux-amd64",
        ),
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
];
