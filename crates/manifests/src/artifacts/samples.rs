//! The samples that kbr repairs, from the types and the samples themselves.

use super::{Artifact, Findings, Input};
use crate::files::Body;
use crate::samples;
use kbr_scaffold::edited::Mark;

pub const SAMPLES: Artifact = Artifact {
    mark: Mark::Checksum,
    is_definition: false,
    generate,
    leftovers: None,
    // A template writes the sample of a kind, so the blueprint removes it.
    of_kind: None,
};

/// The unedited samples that do not match their types, repaired; warnings about the others.
fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<Body>> {
    // Values are searched for in schemas that an API server accepts.
    if !findings.problems.is_empty() {
        return Ok(Vec::new());
    }
    samples::check(input.root, input.crds, &mut findings.warnings)
}
