//! Runs cargo, and reads its messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::output;

/// A target of a package, in cargo's messages.
#[derive(Clone, Debug, Deserialize)]
pub struct BuildTarget {
    name: String,
    kind: Vec<String>,
}

impl BuildTarget {
    /// Its name, if it is a binary.
    pub fn binary(&self) -> Option<&str> {
        let is_binary = self.kind.iter().any(|kind| kind == "bin");
        is_binary.then_some(&self.name)
    }
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<BuildTarget>,
    executable: Option<PathBuf>,
}

/// Runs cargo in `root`, and returns its output; its diagnostics go to stderr unchanged.
pub fn output(root: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(root).stdin(Stdio::null());
    let output = output::of(&mut cargo)
        .context("cannot run `cargo`\nhelp: install Rust, see https://rustup.rs")?;
    if !output.status.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(output.stdout)
}

/// Builds `binaries` of the workspace at `root`; returns their paths as reported by cargo, in the same order.
///
/// With `--workspace`, features are unified for all binaries, so that no dependency is built a second time. Without `--locked`: a kind
/// from another crate makes cargo resolve once, which it reports. `quiet`: cargo reports only errors.
///
/// # Errors
/// One of them does not compile.
pub fn build(root: &Path, binaries: &[&str], quiet: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut arguments = vec![
        "build",
        "--workspace",
        "--message-format=json-render-diagnostics",
    ];
    for binary in binaries {
        arguments.extend(["--bin", binary]);
    }
    if quiet {
        arguments.push("--quiet");
    }
    let messages = output(root, &arguments)?;
    let paths = binaries.iter().map(|name| executable(&messages, name));
    paths.collect()
}

fn executable(messages: &[u8], name: &str) -> anyhow::Result<PathBuf> {
    let mut found: Vec<PathBuf> = serde_json::Deserializer::from_slice(messages)
        .into_iter::<Message>()
        .filter_map(Result::ok)
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| {
            let target = message.target.as_ref();
            target.and_then(BuildTarget::binary) == Some(name)
        })
        .filter_map(|message| message.executable)
        .collect();
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => bail!("cargo built no executable `{name}`"),
        (Some(_), Some(_)) => bail!("several packages have a binary `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","target":{"name":"api","kind":["lib"]},"executable":null,"fresh":true}"#;
    const CRDGEN: &str = r#"{"reason":"compiler-artifact","target":{"name":"crdgen","kind":["bin"]},"executable":"/t/debug/crdgen"}"#;
    const END: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn the_path_of_a_binary_comes_from_cargo() {
        let messages = format!("{LIBRARY}\n{CRDGEN}\n{END}\n");
        assert_eq!(
            executable(messages.as_bytes(), "crdgen").unwrap(),
            Path::new("/t/debug/crdgen")
        );
    }

    #[test]
    fn a_missing_or_ambiguous_binary_is_an_error() {
        let none = executable(format!("{LIBRARY}\n{END}\n").as_bytes(), "crdgen").unwrap_err();
        assert!(none.to_string().contains("no executable `crdgen`"));
        let two = executable(format!("{CRDGEN}\n{CRDGEN}\n").as_bytes(), "crdgen").unwrap_err();
        assert!(two.to_string().contains("several packages"));
    }
}
