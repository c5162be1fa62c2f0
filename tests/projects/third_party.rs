//! An external program that uses only an operator's types.

use std::fs;

use super::{place::place, support::write};

/// Another crate with the same versions of all dependencies.
const CARGO: &str = r#"[package]
name = "other"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
shared-types-api = { path = "../shared-types/api", default-features = false }
"#;

#[test]
fn the_types_need_neither_an_async_runtime_nor_tls() {
    let place = place();
    let project = place.separate("shared-types");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    let other = place.separate("other");
    write(&other.0.join("Cargo.toml"), CARGO.as_bytes());
    write(&other.0.join("src/lib.rs"), b"");
    fs::copy(project.0.join("Cargo.lock"), other.0.join("Cargo.lock")).expect("a lock");
    let words = ["tree", "--edges", "normal", "--prefix", "none"];
    let crates = other.run("cargo", &words);
    assert!(crates.contains("kube-core v"), "{crates}");
    let heavy = [
        "tokio",
        "hyper",
        "tower",
        "rustls",
        "openssl",
        "native-tls",
        "ring",
        "kube-client",
    ];
    for heavy in heavy {
        let mut lines = crates.lines();
        let found = lines.find(|line| {
            line.split([' ', '-']).next() == Some(heavy) || line.starts_with(&format!("{heavy} v"))
        });
        assert_eq!(
            found, None,
            "the types must not depend on {heavy}:\n{crates}"
        );
    }
}
