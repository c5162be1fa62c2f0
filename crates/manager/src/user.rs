//! A user of the cluster.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The user who sent a request, as `UserInfo` of `authentication.k8s.io/v1` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// The name, such as `system:serviceaccount:default:captains`.
    #[serde(default)]
    pub username: String,
    /// Distinguishes this user from earlier or later ones of the same name; may be empty.
    #[serde(default)]
    pub uid: String,
    /// The groups of the user.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Additional information from the authenticator.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}
