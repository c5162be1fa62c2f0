//! The names of a controller, and of the type that it is for.

use serde::{Deserialize, Serialize};

use super::{Resource, kubernetes, words};
use crate::problems::Problems;
use crate::vars::Vars;

/// Longest field manager, by the rules of the API server.
pub const FIELD_MANAGER_MAX: usize = 128;

/// A controller; also a table `[[controller]]` of PROJECT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// `captain`: in logs, metrics and field managers.
    pub name: String,
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
    /// What `--external-crate` said, or empty.
    #[serde(default)]
    pub external_crate: String,
}

impl Controller {
    /// A controller for a kind of the project's own.
    pub fn own(name: String, resource: &Resource) -> Self {
        Controller {
            name,
            group: resource.group.clone(),
            full_group: resource.full_group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            namespaced: resource.namespaced,
            type_path: resource.type_path(),
            external_crate: String::new(),
        }
    }

    /// A controller for a kind of Kubernetes itself.
    pub fn kubernetes(name: String, kind: &kubernetes::BuiltIn) -> Self {
        Controller {
            name,
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
        }
    }

    /// `captain`: file and module in `src/controllers`.
    pub fn module(&self) -> String {
        words::module(&self.name)
    }

    /// `src/controllers/captain.rs`.
    pub fn path(&self) -> String {
        format!("src/controllers/{}.rs", self.module())
    }

    /// The kind's whole group for people: the core group has no name.
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

    /// What the controller calls the type: its name, or another one where that is taken.
    pub fn type_name(&self) -> String {
        let name = self.type_path.rsplit("::").next().unwrap_or_default();
        if words::is_taken_in_controllers(name) {
            format!("{name}Kind")
        } else {
            name.to_owned()
        }
    }

    /// The line that imports the type: `use api::crew::v1::Captain;`.
    pub fn type_use(&self) -> String {
        let (path, name) = (&self.type_path, self.type_name());
        if path.ends_with(&format!("::{name}")) {
            format!("use {path};")
        } else {
            format!("use {path} as {name};")
        }
    }

    /// `crew.example.com/captain` for a kind of the project's own. For any other kind `<manager id>/<controller>`: its group is
    /// somebody else's, and two operators that chose one name would remove each other's finalizer.
    pub fn finalizer(&self, manager_id: &str) -> String {
        let prefix = if self.is_own() {
            &self.full_group
        } else {
            manager_id
        };
        format!("{prefix}/{}", self.name)
    }

    /// Checks the name, and that what follows from it is not too long.
    pub fn check(&self, manager_id: &str, problems: &mut Problems) {
        if !words::is_letter_label(&self.name) {
            let nearest = words::to_label(&self.name);
            let nearest = nearest.trim_start_matches(|first: char| !first.is_ascii_lowercase());
            let nearest = if nearest.is_empty() { "main" } else { nearest };
            problems.add(
                format!("`{}` cannot be a controller's name: a small letter, then small letters, digits and `-`, at most 63 in all", self.name),
                format!("`--controller-name {nearest}` would do"),
            );
            return;
        }
        let field_manager = format!("{manager_id}/{}", self.name);
        if field_manager.len() > FIELD_MANAGER_MAX {
            problems.add(
                format!("the field manager `{field_manager}` is longer than {FIELD_MANAGER_MAX} characters"),
                format!(
                    "pass a shorter name, of at most {} characters, with `--controller-name`",
                    FIELD_MANAGER_MAX.saturating_sub(manager_id.len() + 1)
                ),
            );
        }
    }

    /// Fills in what templates may use.
    pub fn fill(&self, vars: &mut Vars) {
        vars.group.clone_from(&self.group);
        vars.full_group.clone_from(&self.full_group);
        vars.group_module = words::module(&self.group);
        vars.version.clone_from(&self.version);
        vars.kind.clone_from(&self.kind);
        vars.kind_lower = self.kind.to_lowercase();
        vars.kind_module = words::module(&vars.kind_lower);
        vars.plural.clone_from(&self.plural);
        vars.namespaced = self.namespaced;
        vars.own_kind = self.is_own();
        vars.controller.clone_from(&self.name);
        vars.controller_module = self.module();
        vars.type_path.clone_from(&self.type_path);
        vars.type_name = self.type_name();
        vars.type_use = self.type_use();
        vars.finalizer = self.finalizer(&vars.manager_id);
    }
}

/// The names that a controller without `--controller-name` may get, best first: `captain`, `crew-captain`,
/// `crew-example-com-captain`.
pub fn default_names(group: &str, full_group: &str, kind: &str) -> Vec<String> {
    let kind = kind.to_lowercase();
    let with = |group: &str| {
        let name = words::to_label(&format!("{group}-{kind}"));
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            words::to_label(&format!("g{name}"))
        } else {
            name
        }
    };
    let mut names = vec![kind.clone(), with(group), with(full_group)];
    names.dedup();
    names
}
