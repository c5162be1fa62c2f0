//! What kwok does with nodes and Pods: they become ready, run and end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// What kwok does with nodes and Pods.
const STAGES: &str = include_str!("stages.yaml");

/// Writes the configuration of kwok to the folder of a cluster, and returns its path.
pub fn write(folder: &Path) -> anyhow::Result<PathBuf> {
    let stages = folder.join("stages.yaml");
    fs::write(&stages, STAGES).with_context(|| format!("cannot write `{}`", stages.display()))?;
    Ok(stages)
}
