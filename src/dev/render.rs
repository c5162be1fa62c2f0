//! Renders a kustomization of the project.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::envtest::apply::indented;
use crate::envtest::control_plane::ControlPlane;
use crate::envtest::crds;

/// All objects of the kustomization in `folder` of the project `root`.
pub fn render(plane: &ControlPlane, root: &Path, folder: &str) -> anyhow::Result<Vec<Value>> {
    let mut kubectl = plane.kubectl();
    let rendered = kubectl.arg("kustomize").arg(root.join(folder)).output()?;
    if !rendered.status.success() {
        bail!(
            "`kubectl kustomize {folder}` fails:\n{}",
            indented(&rendered)
        );
    }
    let objects = crds::parse(&String::from_utf8_lossy(&rendered.stdout));
    objects.with_context(|| format!("`{folder}` does not render YAML"))
}
