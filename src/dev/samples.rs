//! The project's samples: applied once the operator runs, and again when they change.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use kbr_envtest::apply::{apply, delete};
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::progress;
use kbr_host::output;
use kbr_manifests::overlay;

/// The kustomization of the samples.
pub const FOLDER: &str = "config/samples";

/// How long the API server may reject the samples: until the operator serves its webhooks.
const LIMIT: Duration = Duration::from_secs(30);

/// The samples as they were applied.
#[derive(Debug, Default)]
pub struct Samples {
    applied: Vec<Value>,
    /// Those to apply, and since when.
    pending: Option<(Vec<Value>, Instant)>,
}

impl Samples {
    /// Reads the samples, which are applied next if they have changed.
    pub fn read(&mut self, plane: &ControlPlane, root: &Path) -> anyhow::Result<()> {
        if !overlay::exists(root, FOLDER) {
            return Ok(());
        }
        let samples = overlay::render(plane.kubectl(), root, FOLDER)?;
        self.pending = (samples != self.applied).then(|| (samples, Instant::now()));
        Ok(())
    }

    /// Deletes what was applied.
    pub fn delete(&self, plane: &ControlPlane) -> anyhow::Result<()> {
        delete(plane, &self.applied)
    }

    /// Applies the samples if they have changed. If the API server rejects them, the next call tries again, until the time limit.
    pub fn apply(&mut self, plane: &ControlPlane) {
        let Some((samples, since)) = &self.pending else {
            return;
        };
        match apply(plane, samples, "samples") {
            Ok(()) => {
                let count = samples.len();
                let s = if count == 1 { "" } else { "s" };
                progress("applied", &format!("{count} sample{s}"));
                self.applied.clone_from(samples);
            }
            Err(_) if since.elapsed() < LIMIT => return,
            Err(error) => output::failure("error", &error),
        }
        self.pending = None;
    }
}
