//! Unsupported systems.

use std::path::Path;
use std::process::Command;

#[test]
fn a_build_for_windows_stops_with_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build");
    let built = Command::new("rustc")
        .args(["--edition=2024", "-o"])
        .arg(&script)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/build.rs"))
        .status()
        .unwrap();
    assert!(built.success());
    let errors = |unix: Option<&str>| {
        let mut run = Command::new(&script);
        run.env_remove("CARGO_CFG_UNIX")
            .env("OUT_DIR", folder.path());
        run.envs(unix.map(|value| ("CARGO_CFG_UNIX", value)));
        let printed = String::from_utf8(run.output().unwrap().stdout).unwrap();
        let lines = printed.lines().map(str::to_owned);
        lines
            .filter(|line| line.starts_with("cargo::error="))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        errors(None),
        ["cargo::error=kbr runs on Linux and macOS; on Windows, build and run it in WSL"]
    );
    assert_eq!(errors(Some("")), [""; 0]);
}
