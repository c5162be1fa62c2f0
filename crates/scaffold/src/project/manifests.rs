//! `[manifests]` of PROJECT: options that every run of `kbr manifests` reads.

use serde::Deserialize;

/// Options for generating manifests; flags on the command line override them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Manifests {
    /// Ids of findings that are allowed everywhere: `unknown-function`. `kbr manifests` validates them.
    pub allow: Vec<String>,
    /// The default of `--max-description-length`.
    pub max_description_length: Option<usize>,
}
