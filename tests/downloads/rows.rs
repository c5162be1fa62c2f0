//! Command lines, and the answers of setup-envtest to them.

pub mod different;
pub mod offline;
pub mod online;

/// In the store of each row, with a file, a link and a folder of other names.
pub const INSTALLED: [&str; 7] = [
    "1.34.26-linux-amd64",
    "1.34.26-solaris-sparc",
    "1.35.9-linux-amd64",
    "1.36.0-linux-amd64",
    "1.36.1-linux-amd64",
    "1.36.2-linux-riscv64",
    "1.36.2-plan9-amd64",
];

/// In the index of each row that is online.
pub const PUBLISHED: [&str; 9] = [
    "1.30.0-darwin-amd64",
    "1.30.0-linux-amd64",
    "1.31.1-plan9-arm64",
    "1.34.1-linux-amd64",
    "1.35.9-linux-amd64",
    "1.36.4-darwin-amd64",
    "1.36.4-linux-amd64",
    "1.37.0-darwin-amd64",
    "1.38.0-rc.0-linux-amd64",
];

/// A command line for linux/amd64, with variables before it; the exit code; and standard output, where `[store]` is the store and
/// `[sha512 NAME]` is the checksum of an archive.
pub type Row = (&'static str, i32, &'static str);
