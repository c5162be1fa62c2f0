//! Rows without a server.

use super::Row;

/// These need no server.
pub const ROWS: &[Row] = &[
    // Versions in the store are enough.
    ("use -p path 1.36.0", 0, "[store]/k8s/1.36.0-linux-amd64"),
    ("use -p path 1.36.0!", 0, "[store]/k8s/1.36.0-linux-amd64"),
    ("use -p path 1.36", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path 1.36.x", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path 1.36.*", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path ~1.36.0", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path ~1.36", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path ~1.34.3", 0, "[store]/k8s/1.34.26-linux-amd64"),
    ("use -p path <=1.36", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -p path <1.36", 0, "[store]/k8s/1.35.9-linux-amd64"),
    ("use -p path <=1.35.9", 0, "[store]/k8s/1.35.9-linux-amd64"),
    ("use -p path <1.35.9", 0, "[store]/k8s/1.34.26-linux-amd64"),
    ("use -p path <1.36.1", 0, "[store]/k8s/1.36.0-linux-amd64"),
    (
        "use -p path latest-on-disk",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    ("use -p path -i", 0, "[store]/k8s/1.36.1-linux-amd64"),
    ("use -ip path latest", 0, "[store]/k8s/1.36.1-linux-amd64"),
    (
        "use --print=path --installed-only 1.36!",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "use -i=true -p=path 1.36!",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "use -v debug -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    // Without a match, these fail before they ask the index.
    ("use -i 1.36.4", 2, ""),
    ("use -i 1.20", 2, ""),
    ("use -i ~1.36.2", 2, ""),
    ("use -i <1.34", 2, ""),
    ("use -i 1.36.2", 2, ""),
    ("use --os darwin latest-on-disk", 2, ""),
    // These ask it.
    ("use", 2, ""),
    ("use latest", 2, ""),
    ("use 1.36!", 2, ""),
    ("use 1.36.4", 2, ""),
    ("use 1.20", 2, ""),
    // Platforms.
    (
        "use -p path --arch riscv64 1.36.2",
        0,
        "[store]/k8s/1.36.2-linux-riscv64",
    ),
    (
        "use -p path --os plan9 latest-on-disk",
        0,
        "[store]/k8s/1.36.2-plan9-amd64",
    ),
    (
        "use -p path --arch * 1.36",
        0,
        "[store]/k8s/1.36.2-linux-riscv64",
    ),
    (
        "use -p path --os * --arch * -i",
        0,
        "[store]/k8s/1.36.2-linux-riscv64",
    ),
    ("use --arch * 1.36.2", 2, ""),
    ("use --os * 1.36.2", 2, ""),
    ("use -i --os haiku", 2, ""),
    // Output.
    (
        "use 1.36",
        0,
        "Version: 1.36.1\nOS/Arch: linux/amd64\nPath: [store]/k8s/1.36.1-linux-amd64\n",
    ),
    (
        "use --print overview --arch riscv64 1.36.2",
        0,
        "Version: 1.36.2\nOS/Arch: linux/riscv64\nPath: [store]/k8s/1.36.2-linux-riscv64\n",
    ),
    (
        "use -p env 1.36",
        0,
        "export KUBEBUILDER_ASSETS='[store]/k8s/1.36.1-linux-amd64'\n",
    ),
    // Variables. Any value turns them on.
    (
        "ENVTEST_INSTALLED_ONLY=1 use -p path",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "ENVTEST_INSTALLED_ONLY=false use -p path",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    ("ENVTEST_INSTALLED_ONLY= use -p path", 2, ""),
    ("ENVTEST_INSTALLED_ONLY=1 use -i=false -p path", 2, ""),
    (
        "KUBEBUILDER_ASSETS=[store]/good use -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good use --use-env -p path 1.36",
        0,
        "[store]/good",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good use --use-env -p path",
        0,
        "[store]/good",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good ENVTEST_USE_ENV=1 use -p path 1.20",
        0,
        "[store]/good",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good ENVTEST_USE_ENV=no use -p path 1.20",
        0,
        "[store]/good",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good ENVTEST_USE_ENV=1 use --use-env=false -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good use --use-env",
        0,
        "Version: *\nOS/Arch: */*\nPath: [store]/good\n",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/good use --use-env -p env",
        0,
        "export KUBEBUILDER_ASSETS='[store]/good'\n",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/k8s/1.35.9-linux-amd64 use --use-env 1.36",
        0,
        "Version: 1.35.9\nOS/Arch: linux/amd64\nPath: [store]/k8s/1.35.9-linux-amd64\n",
    ),
    (
        "KUBEBUILDER_ASSETS=[store]/bad use --use-env -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "KUBEBUILDER_ASSETS= use --use-env -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    (
        "use --use-env -p path 1.36",
        0,
        "[store]/k8s/1.36.1-linux-amd64",
    ),
    // Flags that contradict each other, and other mistakes.
    ("use -i --force 1.36", 2, ""),
    ("use --force latest-on-disk", 2, ""),
    ("ENVTEST_INSTALLED_ONLY=1 use --force 1.36", 2, ""),
    ("use -p json 1.36", 2, ""),
    ("use --os= 1.36", 2, ""),
    ("use --frobnicate", 2, ""),
    ("use 1.36 1.35", 2, ""),
    ("frobnicate", 2, ""),
    // Lists.
    (
        "list -i",
        0,
        "(installed)  v1.36.1   linux/amd64\n\
         (installed)  v1.36.0   linux/amd64\n\
         (installed)  v1.35.9   linux/amd64\n\
         (installed)  v1.34.26  linux/amd64\n",
    ),
    (
        "list -i --os * --arch *",
        0,
        "(installed)  v1.36.2   linux/riscv64\n\
         (installed)  v1.36.2   plan9/amd64\n\
         (installed)  v1.36.1   linux/amd64\n\
         (installed)  v1.36.0   linux/amd64\n\
         (installed)  v1.35.9   linux/amd64\n\
         (installed)  v1.34.26  linux/amd64\n\
         (installed)  v1.34.26  solaris/sparc\n",
    ),
    (
        "list -i --arch * 1.36",
        0,
        "(installed)  v1.36.2  linux/riscv64\n\
         (installed)  v1.36.1  linux/amd64\n\
         (installed)  v1.36.0  linux/amd64\n",
    ),
    (
        "ENVTEST_INSTALLED_ONLY=1 list <1.36",
        0,
        "(installed)  v1.35.9   linux/amd64\n(installed)  v1.34.26  linux/amd64\n",
    ),
    ("list -i 1.20", 0, ""),
    (
        "list 1.36",
        2,
        "(installed)  v1.36.1  linux/amd64\n(installed)  v1.36.0  linux/amd64\n",
    ),
    // Removal.
    (
        "cleanup",
        0,
        "removed 1.34.26 (linux/amd64)\n\
         removed 1.35.9 (linux/amd64)\n\
         removed 1.36.0 (linux/amd64)\n\
         removed 1.36.1 (linux/amd64)\n",
    ),
    (
        "cleanup --os * --arch * <1.35",
        0,
        "removed 1.34.26 (linux/amd64)\nremoved 1.34.26 (solaris/sparc)\n",
    ),
    ("cleanup -i 1.35.9", 0, "removed 1.35.9 (linux/amd64)\n"),
    ("cleanup ~1.36.1", 0, "removed 1.36.1 (linux/amd64)\n"),
    ("cleanup 1.20", 0, ""),
    // Archives on standard input.
    (
        "sideload -p path 1.33.0",
        0,
        "[store]/k8s/1.33.0-linux-amd64",
    ),
    (
        "sideload 1.33.0 --os plan9",
        0,
        "Version: 1.33.0\nOS/Arch: plan9/amd64\nPath: [store]/k8s/1.33.0-plan9-amd64\n",
    ),
    (
        "sideload -p env 1.36.0",
        0,
        "export KUBEBUILDER_ASSETS='[store]/k8s/1.36.0-linux-amd64'\n",
    ),
    ("sideload", 2, ""),
    ("sideload 1.33", 2, ""),
    ("sideload ~1.33.0", 2, ""),
    ("sideload 1.33.0 --arch *", 2, ""),
];
