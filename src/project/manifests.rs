//! `[manifests]` of PROJECT: what every call of `kbr manifests` reads.

use serde::Deserialize;

/// Choices for the generation of manifests; a flag on the command line is stronger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Manifests {
    /// Ids of findings that are allowed everywhere: `unknown-function`. Whether they exist, `kbr manifests` checks.
    pub allow: Vec<String>,
    /// What `--max-description-length` says.
    pub max_description_length: Option<usize>,
}
