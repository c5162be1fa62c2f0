//! The answers in `rows.rs` are those of setup-envtest itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::OFFLINE;
use crate::rows::different;
use crate::same_answers::{Program, answer, store, wrong_answers};

/// Builds setup-envtest from Go modules.
fn setup_envtest() -> PathBuf {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/downloads/setup-envtest");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("setup-envtest");
    let built = Command::new("go")
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg("sigs.k8s.io/controller-runtime/tools/setup-envtest")
        .current_dir(module)
        .envs([("GOWORK", "off"), ("GOFLAGS", "-mod=readonly")])
        .status()
        .expect("Go is not installed; install it from https://go.dev/dl/");
    assert!(built.success());
    program
}

#[test]
#[ignore = "builds setup-envtest from Go modules"]
fn setup_envtest_gives_the_answers_of_the_table() {
    let program = Program::SetupEnvtest(setup_envtest());
    let wrong = wrong_answers(&program);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for ((row, code, stdout), _, _) in different::ROWS {
        let found = answer(&program, &store(), OFFLINE, row);
        assert_eq!(found, (*code, (*stdout).to_owned()), "{row}");
    }
}
