//! The kind of a controller or webhook: the project's own, a built-in or an external one.

use serde::{Deserialize, Serialize};

use super::{Resource, kubernetes, names};
use crate::vars::Vars;

/// The kind of a controller or webhook; part of their tables in PROJECT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The kind's short group: `crew`, `apps`, `core`.
    pub group: String,
    /// The kind's full group: `crew.example.com`, `apps`, empty for Kubernetes' core group.
    pub full_group: String,
    /// `v1`.
    pub version: String,
    /// `Captain`.
    pub kind: String,
    /// `captains`.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// `api::crew::v1::Captain`.
    #[serde(rename = "type")]
    pub type_path: String,
    /// The value of `--external-crate`, or empty.
    #[serde(default)]
    pub external_crate: String,
    /// The line that kbr added to the manifest for that crate: `gateway-api = "0.20"`; empty if the manifest already had the crate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
}

impl Target {
    /// A kind of the project's own.
    pub fn own(resource: &Resource) -> Self {
        Target {
            group: resource.group.clone(),
            full_group: resource.full_group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            namespaced: resource.namespaced,
            type_path: resource.type_path(),
            external_crate: String::new(),
            dependency: None,
        }
    }

    /// A built-in kind.
    pub fn kubernetes(kind: &kubernetes::BuiltIn) -> Self {
        Target {
            group: match kind.group {
                "" => "core".to_owned(),
                group => group.to_owned(),
            },
            full_group: kind.group.to_owned(),
            version: kind.version.to_owned(),
            kind: kind.kind.to_owned(),
            plural: kind.plural.to_owned(),
            namespaced: kind.namespaced,
            type_path: kind.type_path.to_owned(),
            external_crate: String::new(),
            dependency: None,
        }
    }

    /// The kind's full group in messages: the core group has no name.
    pub fn group_shown(&self) -> &str {
        if self.full_group.is_empty() {
            "core"
        } else {
            &self.full_group
        }
    }

    /// Whether the kind is one of the project's own.
    pub fn is_own(&self) -> bool {
        self.type_path.starts_with("api::")
    }

    /// Whether the kind is external.
    pub fn is_external(&self) -> bool {
        !self.external_crate.is_empty()
    }

    /// Whether both are the same kind in the same version.
    pub fn matches(&self, other: &Target) -> bool {
        self.is_version_of(other) && self.version == other.version
    }

    /// Whether both are versions of one kind.
    pub fn is_version_of(&self, other: &Target) -> bool {
        self.full_group == other.full_group && self.kind == other.kind
    }

    /// The name of the type in the code: its own, or an alias if the file already uses that name (`is_taken`).
    pub fn type_name(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let name = self.type_path.rsplit("::").next().unwrap_or_default();
        names::alias(name, is_taken)
    }

    /// The line that imports the type as `name`: `use api::crew::v1::Captain;`.
    pub fn type_use(&self, name: &str) -> String {
        let path = &self.type_path;
        if path.ends_with(&format!("::{name}")) {
            format!("use {path};")
        } else {
            format!("use {path} as {name};")
        }
    }

    /// Sets the template variables, except for the type's name and import.
    pub fn fill(&self, vars: &mut Vars) {
        vars.group.clone_from(&self.group);
        vars.full_group.clone_from(&self.full_group);
        vars.group_module = names::module(&self.group);
        vars.version.clone_from(&self.version);
        vars.kind.clone_from(&self.kind);
        vars.kind_lower = self.kind.to_lowercase();
        vars.kind_module = names::module(&vars.kind_lower);
        vars.plural.clone_from(&self.plural);
        vars.namespaced = self.namespaced;
        vars.own_kind = self.is_own();
        vars.type_path.clone_from(&self.type_path);
        vars.external_crate.clone_from(&self.external_crate);
        vars.external_dependency = self.dependency.clone().unwrap_or_default();
    }
}
