//! Group, version and kind of an API, and every name derived from them.

pub mod api_version;
pub mod controller;
pub mod external;
pub mod kubernetes;
pub mod names;
mod plural;
pub mod target;
mod validate;
pub mod webhook;

use serde::{Deserialize, Serialize};

use crate::vars::Vars;
use kbr_host::diagnostic::Problems;

pub use plural::plural;
pub use validate::protected;

/// The parameters of an API from the command line.
#[derive(Clone, Debug, Default)]
pub struct ApiFlags {
    /// `--group`: a word or a full group.
    pub group: String,
    /// `--domain`, or the project's.
    pub domain: String,
    /// `--version`.
    pub version: String,
    /// `--kind`.
    pub kind: String,
    /// `--plural`.
    pub plural: Option<String>,
    /// `--singular`.
    pub singular: Option<String>,
    /// `--short-name`, any number of them.
    pub short_names: Vec<String>,
    /// `--namespaced`.
    pub namespaced: bool,
}

/// An API of the project; also a table `[[api]]` of PROJECT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// `crew`: the `--group` word, or the full group if there is no domain.
    pub group: String,
    /// `crew.example.com`.
    pub full_group: String,
    /// `v1`.
    pub version: String,
    /// `Captain`.
    pub kind: String,
    /// `captains`.
    pub plural: String,
    /// `captain`.
    pub singular: String,
    /// `["cap"]`.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the types come from a CRD: their file belongs to the user from the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

impl Resource {
    /// Validates `wanted` and fills in defaults.
    ///
    /// # Errors
    /// All problems, each with a valid name.
    pub fn new(wanted: &ApiFlags) -> anyhow::Result<Self> {
        let resource = Self::derive(wanted);
        let mut problems = Problems::default();
        resource.check(&mut problems);
        problems.into_result()?;
        Ok(resource)
    }

    /// A kind whose types come from a CRD, which an API server has accepted: its group may be any.
    ///
    /// # Errors
    /// All problems, each with a valid name.
    pub fn imported(wanted: &ApiFlags) -> anyhow::Result<Self> {
        let mut resource = Self::derive(wanted);
        resource.imported = true;
        let mut problems = Problems::default();
        resource.check(&mut problems);
        problems.into_result()?;
        Ok(resource)
    }

    /// An external kind: only the syntax is checked.
    ///
    /// # Errors
    /// All problems, each with a valid name.
    pub fn external(wanted: &ApiFlags) -> anyhow::Result<Self> {
        let resource = Self::derive(wanted);
        let mut problems = Problems::default();
        resource.check_external(&mut problems);
        problems.into_result()?;
        Ok(resource)
    }

    fn derive(wanted: &ApiFlags) -> Self {
        let kind_lower = wanted.kind.to_lowercase();
        let (group, full_group) = groups(&wanted.group, &wanted.domain);
        Resource {
            group,
            full_group,
            version: wanted.version.clone(),
            plural: wanted.plural.clone().unwrap_or_else(|| plural(&kind_lower)),
            singular: wanted.singular.clone().unwrap_or(kind_lower),
            kind: wanted.kind.clone(),
            short_names: wanted.short_names.clone(),
            namespaced: wanted.namespaced,
            imported: false,
        }
    }

    /// Checks the values of flags that nothing else depends on.
    fn check_flags(&self, problems: &mut Problems) {
        validate::check_label("singular", &self.singular, problems);
        for (index, name) in self.short_names.iter().enumerate() {
            validate::check_label("short-name", name, problems);
            if self.short_names[..index].contains(name) {
                problems.add(
                    format!("duplicate short name `{name}`"),
                    format!("pass `--short-name {name}` once"),
                );
            }
        }
    }

    /// Checks this API against the project's other kinds, groups and versions, and the modules that the project needs for itself.
    ///
    /// # Errors
    /// They cannot be in one project.
    pub fn check_among<'a>(
        &self,
        others: impl Iterator<Item = &'a Resource>,
    ) -> anyhow::Result<()> {
        let mut problems = Problems::default();
        validate::check_group_module(self, &mut problems);
        for other in others {
            validate::check_pair(self, other, &mut problems);
        }
        problems.into_result()
    }

    /// Checks every name by the rules for the project's own kinds.
    pub fn check(&self, problems: &mut Problems) {
        let mut own = Problems::default();
        validate::check(self, &mut own);
        problems.extend(own);
    }

    /// Checks only the syntax, as for an external kind.
    pub fn check_external(&self, problems: &mut Problems) {
        validate::check_external(self, problems);
    }

    /// `captain`: the kind in lower case, as kubectl uses it.
    pub fn kind_lower(&self) -> String {
        self.kind.to_lowercase()
    }

    /// `crew`: the module of the group in the `api` crate.
    pub fn group_module(&self) -> String {
        names::module(&self.group)
    }

    /// `captain`: the module of the kind in the `api` crate.
    pub fn kind_module(&self) -> String {
        names::module(&self.kind_lower())
    }

    /// `api::crew::v1::Captain`.
    pub fn type_path(&self) -> String {
        format!(
            "api::{}::{}::{}",
            self.group_module(),
            self.version,
            self.kind
        )
    }

    /// `Captain`: the name of the type in the file that converts it, or an alias if that is taken.
    pub fn spoke_type(&self) -> String {
        names::alias(&self.kind, names::is_taken_in_conversions)
    }

    /// `api/src/crew/v1/captain.rs`.
    pub fn path(&self) -> String {
        format!("{}/{}.rs", self.version_folder(), self.kind_module())
    }

    /// `api/src/crew/v1`.
    pub fn version_folder(&self) -> String {
        format!("api/src/{}/{}", self.group_module(), self.version)
    }

    /// `api/src/crew/v1/captain_conversion.rs`.
    pub fn conversion_path(&self) -> String {
        format!(
            "{}/{}_conversion.rs",
            self.version_folder(),
            self.kind_lower()
        )
    }

    /// Whether both are the same API.
    pub fn matches(&self, other: &Resource) -> bool {
        self.is_version_of(other) && self.version == other.version
    }

    /// Whether both are versions of one kind.
    pub fn is_version_of(&self, other: &Resource) -> bool {
        self.full_group == other.full_group && self.kind == other.kind
    }

    /// Sets the template variables; `storage`: whether this is the storage version of its kind.
    pub fn fill(&self, vars: &mut Vars, storage: bool) {
        vars.group.clone_from(&self.group);
        vars.full_group.clone_from(&self.full_group);
        vars.group_module = self.group_module();
        vars.version.clone_from(&self.version);
        vars.kind.clone_from(&self.kind);
        vars.article = names::article(&self.kind);
        vars.kind_lower = self.kind_lower();
        vars.kind_module = self.kind_module();
        vars.plural.clone_from(&self.plural);
        vars.singular.clone_from(&self.singular);
        vars.namespaced = self.namespaced;
        vars.storage = storage;
        // The fields are strings, lists and booleans, which JSON can always represent.
        vars.api = serde_json::to_value(self).unwrap_or_default();
        vars.api["imported"] = self.imported.into();
        vars.own_kind = true;
    }
}

/// The parameters that all versions of a kind share, by flag, with the values of both.
pub fn shared(new: &Resource, old: &Resource) -> Vec<(&'static str, String, String)> {
    let names = |resource: &Resource| resource.short_names.join(",");
    vec![
        ("plural", new.plural.clone(), old.plural.clone()),
        ("singular", new.singular.clone(), old.singular.clone()),
        ("short-name", names(new), names(old)),
        (
            "namespaced",
            new.namespaced.to_string(),
            old.namespaced.to_string(),
        ),
    ]
}

/// The short and the full group: with an empty `domain`, `group` is the full group; with an empty `group`, the domain is. A `group`
/// that already ends with the domain is the full group, too: nobody means `crew.example.com.example.com`.
pub fn groups(group: &str, domain: &str) -> (String, String) {
    match (group, domain) {
        ("", domain) => (domain.to_owned(), domain.to_owned()),
        (group, "") => (group.to_owned(), group.to_owned()),
        (group, domain) if group == domain => (domain.to_owned(), domain.to_owned()),
        (group, domain) => match group
            .strip_suffix(domain)
            .and_then(|it| it.strip_suffix('.'))
        {
            Some(word) => (word.to_owned(), group.to_owned()),
            None => (group.to_owned(), format!("{group}.{domain}")),
        },
    }
}

#[cfg(test)]
mod tests;
