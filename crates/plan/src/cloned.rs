//! A clone: what was read of a cluster.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Objects of a cluster, as its API server showed them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cloned {
    /// The version of the cluster: `v1.37.2`.
    pub kubernetes: String,
    /// What was read, a kind each. CRDs, namespaces and the definitions of others are among them.
    pub kinds: Vec<Kind>,
    /// Whether the values of Secrets are those of the cluster.
    #[serde(default)]
    pub secrets: bool,
    /// What was not read, and why: a sentence each.
    pub unread: Vec<String>,
}

impl Cloned {
    /// The number of objects.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|it| it.objects.len()).sum()
    }
}

/// A kind in one version, and all of its objects that were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version that the objects are in: that which is stored, for a custom resource.
    pub version: String,
    /// The name in URLs: `captains`.
    pub plural: String,
    /// The name in objects: `Captain`.
    pub kind: String,
    /// Whether each object has a namespace.
    pub namespaced: bool,
    /// With `apiVersion`, `kind`, and all metadata that the API server shows.
    pub objects: Vec<Value>,
}
