//! The packages of the project, and the CRDs that its generator prints.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use kbr_programs::cargo::{self, BuildTarget};
use kbr_programs::run;

use super::agreement::Answer;

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
pub struct Failed {
    text: String,
    /// What it printed.
    pub printed: String,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

/// The most times that a generator is started again because a type made it panic.
const RESTARTS: usize = 20;

/// What the types of the project read and write of each of `objects`, as its generator answers; `None` if it does not: an older one prints
/// the CRDs, whatever its arguments are.
pub fn again(
    root: &Path,
    generator: &Path,
    objects: &[String],
) -> anyhow::Result<Option<Vec<Answer>>> {
    let mut answers: Vec<Answer> = Vec::new();
    for _ in 0..RESTARTS {
        let left = &objects[answers.len()..];
        if left.is_empty() {
            break;
        }
        let (reader, mut writer) = std::io::pipe()?;
        let mut command = Command::new(generator);
        command.current_dir(root).arg("again").stdin(reader);
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                // A generator that ends early has not read everything.
                let _ = writer.write_all((left.join("\n") + "\n").as_bytes());
            });
            let output = run::run(&mut command);
            // With the last reader, the writer ends, too.
            drop(command);
            output
        });
        let shown = generator.display();
        let output = output.with_context(|| format!("cannot run `{shown}`"))?;
        let lines = output.stdout.split_inclusive(|byte| *byte == b'\n');
        let read = lines.map_while(|line| serde_json::from_slice::<Answer>(line).ok());
        let before = answers.len();
        answers.extend(read.take(left.len()));
        if answers.len() == before && output.status.success() {
            return Ok(None);
        }
        if answers.len() < objects.len() {
            let text = format!("`{shown}` failed ({})", output.status);
            answers.push(Some(Err(text)));
        }
    }
    answers.resize(objects.len(), None);
    Ok(Some(answers))
}

/// Runs the generator, and returns its output: a CRD for each version of each kind.
pub fn crds(root: &Path, generator: &Path) -> anyhow::Result<Vec<Value>> {
    let shown = generator.display();
    let mut command = Command::new(generator);
    command.current_dir(root).stdin(Stdio::null());
    let output =
        run::run_and_listen(&mut command).with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        let text = format!("`{shown}` failed ({})", output.status);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failed { text, printed }.into());
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`{shown}` did not print a JSON array of CRDs"))
}
