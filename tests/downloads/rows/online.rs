//! Rows with a server.

use super::Row;

/// These have a server.
pub const ROWS: &[Row] = &[
    // `latest` and `!` ask the index, and take a newer version of the store.
    ("use -p path", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path latest", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path 1.36!", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path ~1.36.1!", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path <1.37!", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path 1.34!", 0, "[store]/k8s/1.34.26-linux-amd64"),
    ("use -p path 1.35!", 0, "[store]/k8s/1.35.9-linux-amd64"),
    (
        "ENVTEST_INSTALLED_ONLY=1 use -i=false -p path",
        0,
        "[store]/k8s/1.36.4-linux-amd64",
    ),
    // Others only if the store has no match.
    ("use -p path 1.36", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path 1.36.4", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path 1.30", 0, "[store]/k8s/1.30.0-linux-amd64"),
    ("use -p path ~1.36.2", 0, "[store]/k8s/1.36.4-linux-amd64"),
    ("use -p path <1.34", 0, "[store]/k8s/1.30.0-linux-amd64"),
    (
        "use -p path --os darwin",
        0,
        "[store]/k8s/1.37.0-darwin-amd64",
    ),
    (
        "use -p path --os darwin 1.36",
        0,
        "[store]/k8s/1.36.4-darwin-amd64",
    ),
    (
        "use -p path --os * 1.37",
        0,
        "[store]/k8s/1.37.0-darwin-amd64",
    ),
    // There are none.
    ("use 1.36.9", 2, ""),
    ("use 1.31", 2, ""),
    ("use 1.37", 2, ""),
    ("use 1.38", 2, ""),
    ("use 1.38.0", 2, ""),
    ("use ~0.1.1", 2, ""),
    ("use --arch s390x", 2, ""),
    ("use -i 1.36.4", 2, ""),
    // The checksum is printed if the index was read.
    (
        "use",
        0,
        "Version: 1.36.4\nOS/Arch: linux/amd64\nsha512: [sha512 1.36.4-linux-amd64]\n\
         Path: [store]/k8s/1.36.4-linux-amd64\n",
    ),
    (
        "use 1.36.4",
        0,
        "Version: 1.36.4\nOS/Arch: linux/amd64\nsha512: [sha512 1.36.4-linux-amd64]\n\
         Path: [store]/k8s/1.36.4-linux-amd64\n",
    ),
    (
        "use 1.35!",
        0,
        "Version: 1.35.9\nOS/Arch: linux/amd64\nsha512: [sha512 1.35.9-linux-amd64]\n\
         Path: [store]/k8s/1.35.9-linux-amd64\n",
    ),
    (
        "use 1.34!",
        0,
        "Version: 1.34.26\nOS/Arch: linux/amd64\nPath: [store]/k8s/1.34.26-linux-amd64\n",
    ),
    (
        "use --verify=false 1.36.4",
        0,
        "Version: 1.36.4\nOS/Arch: linux/amd64\nPath: [store]/k8s/1.36.4-linux-amd64\n",
    ),
    (
        "use --verify 1.30.0 -p env",
        0,
        "export KUBEBUILDER_ASSETS='[store]/k8s/1.30.0-linux-amd64'\n",
    ),
    // Downloads again.
    (
        "use -p path --force 1.35.9",
        0,
        "[store]/k8s/1.35.9-linux-amd64",
    ),
    (
        "use -p path --force=true 1.34!",
        0,
        "[store]/k8s/1.34.1-linux-amd64",
    ),
    (
        "use -p path --force=false 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    ("use --force 1.36", 2, ""),
    ("use --force 1.36.0", 2, ""),
    // Lists.
    (
        "list",
        0,
        "(installed)  v1.36.1   linux/amd64\n\
         (installed)  v1.36.0   linux/amd64\n\
         (installed)  v1.35.9   linux/amd64\n\
         (installed)  v1.34.26  linux/amd64\n\
         (available)  v1.36.4   linux/amd64\n\
         (available)  v1.35.9   linux/amd64\n\
         (available)  v1.34.1   linux/amd64\n\
         (available)  v1.30.0   linux/amd64\n",
    ),
    (
        "list --os * --arch * 1.36",
        0,
        "(installed)  v1.36.2  linux/riscv64\n\
         (installed)  v1.36.2  plan9/amd64\n\
         (installed)  v1.36.1  linux/amd64\n\
         (installed)  v1.36.0  linux/amd64\n\
         (available)  v1.36.4  darwin/amd64\n\
         (available)  v1.36.4  linux/amd64\n",
    ),
    (
        "list --os * --arch * <=1.31",
        0,
        "(available)  v1.31.1  plan9/arm64\n\
         (available)  v1.30.0  darwin/amd64\n\
         (available)  v1.30.0  linux/amd64\n",
    ),
    ("list 1.38", 0, ""),
    ("list -i 1.30", 0, ""),
];
