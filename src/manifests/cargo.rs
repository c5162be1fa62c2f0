//! What cargo knows about the project, and the CRDs that its generator prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

/// One package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The folder of its manifest, absolute.
    pub folder: PathBuf,
    /// Whether it has a binary `crdgen`.
    pub crdgen: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Target {
    fn is_crdgen(&self) -> bool {
        self.name == "crdgen" && self.kind.iter().any(|kind| kind == "bin")
    }
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<Target>,
    executable: Option<PathBuf>,
}

/// The members of the workspace at `root`. Resolves nothing: needs neither network nor lock file.
pub fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let text = output(root, &["metadata", "--no-deps", "--format-version=1"])?;
    let metadata: Metadata =
        serde_json::from_slice(&text).context("cannot read what `cargo metadata` says")?;
    let package = |package: MetadataPackage| Package {
        folder: package.manifest_path.parent().unwrap_or(root).to_owned(),
        crdgen: package.targets.iter().any(Target::is_crdgen),
    };
    Ok(metadata.packages.into_iter().map(package).collect())
}

/// The generator was built, and ended without definitions: deriving some type panics.
#[derive(Debug)]
pub struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

/// Builds `crdgen` and gives what it prints: a CRD for each version of each kind.
///
/// With `--workspace`, features are unified as for the operator, so that no dependency is built a second time. Without
/// `--locked`: a kind from another crate makes cargo resolve once, and it says so. `quiet`: cargo tells of errors only.
pub fn crds(root: &Path, quiet: bool) -> anyhow::Result<Vec<Value>> {
    let mut arguments = vec![
        "build",
        "--workspace",
        "--bin=crdgen",
        "--message-format=json-render-diagnostics",
    ];
    if quiet {
        arguments.push("--quiet");
    }
    let messages = output(root, &arguments)?;
    let crdgen = executable(&messages)?;
    let shown = crdgen.display();
    let output = Command::new(&crdgen)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        return Err(Failed(format!("`{shown}` failed ({})", output.status)).into());
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{shown}` printed something else than a JSON array of CRDs"))
}

/// Runs cargo in `root`; its diagnostics go where ours go, as they are.
fn output(root: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run `cargo`\nhelp: install Rust, see https://rustup.rs")?;
    if !output.status.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(output.stdout)
}

/// Where cargo has put `crdgen`, whatever its configuration says about target folders.
fn executable(messages: &[u8]) -> anyhow::Result<PathBuf> {
    let mut found: Vec<PathBuf> = serde_json::Deserializer::from_slice(messages)
        .into_iter::<Message>()
        .filter_map(Result::ok)
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.target.as_ref().is_some_and(Target::is_crdgen))
        .filter_map(|message| message.executable)
        .collect();
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => bail!("cargo has built no executable `crdgen`"),
        (Some(_), Some(_)) => bail!("several packages have a binary `crdgen`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","target":{"name":"api","kind":["lib"]},"executable":null,"fresh":true}"#;
    const CRDGEN: &str = r#"{"reason":"compiler-artifact","target":{"name":"crdgen","kind":["bin"]},"executable":"/t/debug/crdgen"}"#;
    const END: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn the_generator_is_where_cargo_says() {
        let messages = format!("{LIBRARY}\n{CRDGEN}\n{END}\n");
        assert_eq!(
            executable(messages.as_bytes()).unwrap(),
            Path::new("/t/debug/crdgen")
        );
    }

    #[test]
    fn no_generator_and_two_generators_are_errors() {
        let none = executable(format!("{LIBRARY}\n{END}\n").as_bytes()).unwrap_err();
        assert!(none.to_string().contains("no executable `crdgen`"));
        let two = executable(format!("{CRDGEN}\n{CRDGEN}\n").as_bytes()).unwrap_err();
        assert!(two.to_string().contains("several packages"));
    }
}
