//! Arguments that are not text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

fn bytes(text: &[u8]) -> OsString {
    OsStr::from_bytes(text).to_owned()
}

#[test]
fn an_argument_that_is_not_utf_8_is_a_usage_error() {
    for words in [
        "",
        "init",
        "create",
        "create api",
        "version",
        "init --project-name",
        "create api --kind",
        "create webhook --spoke",
        "init --domain a.example true",
        "init --frobnicate",
        "envtest run --start-timeout",
        "envtest use",
        "envtest list --os",
    ] {
        for last in [&b"\xff"[..], b"-\xff", b"--\xff", b"--make=\xff", b"a\xffb"] {
            let folder = tempfile::tempdir().unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
                .args(words.split_whitespace())
                .arg(bytes(last))
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words} {last:?}: {printed}");
            assert!(
                printed.starts_with("error: "),
                "{words} {last:?}: {printed}"
            );
            assert!(
                !printed.contains("invalid UTF-8 was"),
                "{words} {last:?}: {printed}"
            );
            assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        }
    }
}

#[test]
fn the_error_contains_the_argument_that_is_not_utf_8() {
    let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args([&b"init"[..], b"--project-name", b"caf\xe9"].map(bytes))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: the argument `caf\\xe9` is not UTF-8 text; nothing was written\nhelp: type it in UTF-8\n"
    );
}
