//! The packages of the project, and the CRDs that its generator prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use kbr_programs::cargo::{self, BuildTarget};
use kbr_programs::run;

/// The binary that prints the CRDs of a project is `<project>-crdgen`, so that projects can share a target folder.
const CRDGEN: &str = "-crdgen";

/// One package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The absolute path of the folder with its `Cargo.toml`.
    pub folder: PathBuf,
    /// Its version.
    pub version: String,
    /// The name of its binary that prints the CRDs.
    pub crdgen: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    manifest_path: PathBuf,
    version: String,
    targets: Vec<BuildTarget>,
}

/// The members of the workspace at `root`. Resolves no dependencies, so it needs neither network nor lock file.
pub fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let text = cargo::output(root, &["metadata", "--no-deps", "--format-version=1"])?;
    let metadata: Metadata =
        serde_json::from_slice(&text).context("cannot parse the output of `cargo metadata`")?;
    let package = |package: MetadataPackage| Package {
        folder: package.manifest_path.parent().unwrap_or(root).to_owned(),
        version: package.version,
        crdgen: package
            .targets
            .iter()
            .filter_map(BuildTarget::binary)
            .find(|name| name.ends_with(CRDGEN))
            .map(str::to_owned),
    };
    Ok(metadata.packages.into_iter().map(package).collect())
}

/// The generator was built, but failed when it ran: the derive macro panics for some type.
#[derive(Debug)]
pub struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

/// Runs the generator, and returns its output: a CRD for each version of each kind.
pub fn crds(root: &Path, generator: &Path) -> anyhow::Result<Vec<Value>> {
    let shown = generator.display();
    let mut command = Command::new(generator);
    command.current_dir(root).stdin(Stdio::null());
    let output = run::run(&mut command).with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        return Err(Failed(format!("`{shown}` failed ({})", output.status)).into());
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{shown}` did not print a JSON array of CRDs"))
}
