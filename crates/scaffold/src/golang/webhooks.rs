//! The webhooks that comments in Go files describe, each comment parsed once.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::source::Marker;
use super::types::name;
use crate::project::Project;
use crate::resource::kubernetes;
use crate::resource::target::Target;
use crate::resource::webhook::{AdmissionKind, Webhook};

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

/// What Kubernetes 1.22 and later reject in a comment, which controller-gen may have written for an older one. Returns a note for each
/// change.
pub fn correct(marker: &mut Marker) -> Vec<String> {
    let effects = marker.value("sideEffects").map(str::to_owned);
    let versions = marker.value("admissionReviewVersions").map(str::to_owned);
    let timeout = marker.value("timeoutSeconds").map(str::parse);
    let has_v1 = versions.is_some_and(|it| it.split([';', ',', '{', '}']).any(|it| it == "v1"));
    let has_effects = effects.is_some_and(|it| ["None", "NoneOnDryRun"].contains(&it.as_str()));
    let is_timeout = |it: Result<u8, _>| it.is_ok_and(|it: u8| (1..=30).contains(&it));
    let changes = [
        (!has_effects, "sideEffects", Some("None")),
        (!has_v1, "admissionReviewVersions", Some("v1")),
        (
            marker.value("webhookVersions").is_some(),
            "webhookVersions",
            None,
        ),
        (!timeout.is_none_or(is_timeout), "timeoutSeconds", None),
    ];
    let mut notes = Vec::new();
    for (_, name, value) in changes.into_iter().filter(|(is_wrong, ..)| *is_wrong) {
        marker.set(name, value);
        let to = value.map_or_else(|| "removed".to_owned(), |value| format!("set to `{value}`"));
        notes.push(format!(
            "`{name}` of a webhook is {to}, because the API server or the operator rejects what its comment in Go says: `{}`",
            marker.path
        ));
    }
    notes
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

    /// The one kind that it is for, in a version of the project or of Kubernetes, and whether it mutates.
    pub fn kind(&self, project: &Project) -> Option<(Target, AdmissionKind)> {
        let only = |all: &BTreeSet<String>| (all.len() == 1).then(|| all.first().cloned());
        let (group, plural) = (only(&self.groups)??, only(&self.resources)??);
        let group = if group == "core" { "" } else { &*group };
        let mut own = project.apis();
        let own = own.find(|it| {
            it.full_group == group && it.plural == plural && self.has_version(&it.version)
        });
        let built_in = || {
            let mut all = kubernetes::kinds();
            all.find(|it| it.group == group && it.plural == plural && self.has_version(it.version))
        };
        let target = own.map(Target::own);
        let target = target.or_else(|| built_in().map(|it| Target::kubernetes(&it)))?;
        self.path.as_ref().and(Some((target, self.verb?)))
    }

    /// Whether the API server calls the same webhook, for other operations.
    pub fn is_more_of(&self, other: &Self) -> bool {
        let is_same = self.verb == other.verb && self.path == other.path;
        is_same && self.groups == other.groups && self.resources == other.resources
    }

    /// Whether the API server calls it here.
    fn is_at(&self, verb: AdmissionKind, path: &str) -> bool {
        self.verb == Some(verb) && self.path.as_deref() == Some(path)
    }
}

/// The comments of the webhooks of a table, each with its mutating or validating webhook's path: the first of those.
pub fn described<'a>(
    table: &'a Webhook,
    all: &'a [Described],
) -> impl Iterator<Item = (AdmissionKind, &'a str, &'a Described)> {
    let verbs = [
        (AdmissionKind::Mutate, table.defaulting.as_str()),
        (AdmissionKind::Validate, table.validation.as_str()),
    ];
    let verbs = verbs.into_iter().filter(|(_, path)| !path.is_empty());
    verbs.filter_map(|(verb, path)| {
        let first = all.iter().find(|it| it.is_at(verb, path))?;
        Some((verb, path, first))
    })
}

/// A Go file with webhooks or conversions.
#[derive(Clone, Debug)]
pub struct Admitting {
    /// `internal/webhook/v1/captain_webhook.go`.
    pub path: Rc<str>,
    /// Its text.
    pub text: Rc<str>,
    /// The types that it converts: `func (src *Captain) ConvertTo(dst conversion.Hub) error {`.
    pub converted: BTreeSet<String>,
    /// The types that others convert to and from: `func (*Captain) Hub() {}`.
    hubs: BTreeSet<String>,
}

impl Admitting {
    /// A file, if it has conversions, or comments from which webhooks are generated.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let with = |method: &str| -> BTreeSet<String> {
            let receiver = |line: &str| {
                let (receiver, rest) = line.strip_prefix("func (")?.split_once(") ")?;
                rest.starts_with(method).then(|| name(receiver).to_owned())
            };
            text.lines().filter_map(receiver).collect()
        };
        let (converted, hubs) = (with("ConvertTo("), with("Hub("));
        let has_webhook = text.contains("+kubebuilder:webhook:");
        (has_webhook || !converted.is_empty() || !hubs.is_empty()).then(|| Self {
            path: path.into(),
            text: text.into(),
            converted,
            hubs,
        })
    }

    /// Whether it converts one of these versions of a kind.
    pub fn converts(&self, kind: &str, versions: &[String]) -> bool {
        self.converted.contains(kind) && versions.iter().any(|it| it == self.version())
    }

    /// The kinds whose hub is its version, with that.
    pub fn hubs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.hubs.iter().map(|kind| (kind.as_str(), self.version()))
    }

    /// The version of its types: its folder is called like it.
    fn version(&self) -> &str {
        self.path.rsplit('/').nth(1).unwrap_or_default()
    }
}

/// `create;update` as its parts.
fn list(marker: &Marker, key: &str) -> BTreeSet<String> {
    let value = marker.value(key).unwrap_or_default();
    let parts = value.split(';').map(|it| it.trim_matches('"').to_owned());
    parts.collect()
}
