//! The `kbr` binary.

use std::{path::PathBuf, process::Command};

/// The `kbr` binary, built if necessary.
pub fn kbr() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().and_then(|deps| deps.parent()).unwrap();
    let kbr = folder.join("kbr");
    if !kbr.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "kbr", "--bin", "kbr"])
            .args(["--target-dir", folder.parent().unwrap().to_str().unwrap()])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .status();
        assert!(built.unwrap().success(), "help: cargo build --bin kbr");
    }
    kbr
}
