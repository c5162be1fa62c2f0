//! The webhooks that comments in Go files describe, each comment parsed once.

use std::collections::BTreeSet;

use super::source::Marker;
use crate::resource::target::Target;
use crate::resource::webhook::AdmissionKind;

/// A comment `+kubebuilder:webhook:…`.
#[derive(Debug)]
pub struct Described {
    /// The comment.
    pub marker: Marker,
    /// Where the API server calls it; `None` if the comment does not say so.
    pub path: Option<String>,
    verb: Option<AdmissionKind>,
    groups: BTreeSet<String>,
    versions: BTreeSet<String>,
    resources: BTreeSet<String>,
}

impl Described {
    /// What a comment describes.
    pub fn new(marker: Marker) -> Self {
        let verb = match marker.value("mutating") {
            Some("true") => Some(AdmissionKind::Mutate),
            Some("false") => Some(AdmissionKind::Validate),
            _ => None,
        };
        Self {
            path: marker.value("path").map(str::to_owned),
            verb,
            groups: list(&marker, "groups"),
            versions: list(&marker, "versions"),
            resources: list(&marker, "resources"),
            marker,
        }
    }

    /// Whether it is a webhook of this kind, in any version.
    pub fn is_of(&self, target: &Target, verb: AdmissionKind) -> bool {
        let group = match target.full_group.as_str() {
            "" if !self.groups.contains("") => "core",
            group => group,
        };
        self.verb == Some(verb)
            && self.path.is_some()
            && self.resources.contains(&target.plural)
            && self.groups.contains(group)
    }

    /// Whether the API server calls it with objects of this version.
    pub fn has_version(&self, version: &str) -> bool {
        self.versions.contains(version)
    }

    /// Whether the API server calls it here.
    pub fn is_at(&self, verb: AdmissionKind, path: &str) -> bool {
        self.verb == Some(verb) && self.path.as_deref() == Some(path)
    }
}

/// `create;update` as its parts.
fn list(marker: &Marker, key: &str) -> BTreeSet<String> {
    let value = marker.value(key).unwrap_or_default();
    let parts = value.split(';').map(|it| it.trim_matches('"').to_owned());
    parts.collect()
}
