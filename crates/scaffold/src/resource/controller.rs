//! The names of a controller.

use serde::{Deserialize, Serialize};

use super::names;
use super::target::Target;
use crate::vars::Vars;
use kbr_host::diagnostic::Problems;

/// The maximum length of a field manager in the API server.
pub const FIELD_MANAGER_MAX: usize = 128;

/// A controller; also a table `[[controller]]` of PROJECT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// `captain`: the name in logs, metrics and field managers.
    pub name: String,
    /// The kind that it reconciles.
    #[serde(flatten)]
    pub target: Target,
}

impl Controller {
    /// A controller with this name.
    pub fn new(name: String, target: Target) -> Self {
        Controller { name, target }
    }

    /// `captain`: the file and module in `src/controllers`.
    pub fn module(&self) -> String {
        names::module(&self.name)
    }

    /// `src/controllers/captain.rs`.
    pub fn path(&self) -> String {
        format!("src/controllers/{}.rs", self.module())
    }

    /// The name of the type in the controller: its own, or an alias if that is taken.
    pub fn type_name(&self) -> String {
        self.target.type_name(names::is_taken_in_controllers)
    }

    /// The line that imports the type: `use api::crew::v1::Captain;`.
    pub fn type_use(&self) -> String {
        self.target.type_use(&self.type_name())
    }

    /// `crew.example.com/captain` for the project's own kind. For any other kind `<manager id>/<controller>`, because two operators
    /// with the same controller name would otherwise remove each other's finalizer.
    pub fn finalizer(&self, manager_id: &str) -> String {
        let prefix = if self.target.is_own() {
            &self.target.full_group
        } else {
            manager_id
        };
        format!("{prefix}/{}", self.name)
    }

    /// Checks the name, and the length of the field manager derived from it.
    pub fn check(&self, manager_id: &str, problems: &mut Problems) {
        if !names::is_rfc1035_label(&self.name) {
            let nearest = names::to_label(&self.name);
            let nearest = nearest.trim_start_matches(|first: char| !first.is_ascii_lowercase());
            let nearest = if nearest.is_empty() { "main" } else { nearest };
            problems.add(
                format!("`{}` is not a controller name: use at most 63 lower-case letters, digits and `-`, starting with a letter", self.name),
                format!("try `--controller-name {nearest}`"),
            );
            return;
        }
        let field_manager = format!("{manager_id}/{}", self.name);
        if field_manager.len() > FIELD_MANAGER_MAX {
            problems.add(
                format!("the field manager `{field_manager}` is longer than {FIELD_MANAGER_MAX} characters"),
                format!(
                    "pass a name of at most {} characters with `--controller-name`",
                    FIELD_MANAGER_MAX.saturating_sub(manager_id.len() + 1)
                ),
            );
        }
    }

    /// Sets the template variables.
    pub fn fill(&self, vars: &mut Vars) {
        self.target.fill(vars);
        vars.controller.clone_from(&self.name);
        vars.controller_module = self.module();
        vars.type_name = self.type_name();
        vars.type_use = self.type_use();
    }
}

/// The names that a controller without `--controller-name` may get, best first: `captain`, `crew-captain`,
/// `crew-example-com-captain`.
pub fn default_names(group: &str, full_group: &str, kind: &str) -> Vec<String> {
    let kind = kind.to_lowercase();
    let with = |group: &str| {
        let name = names::to_label(&format!("{group}-{kind}"));
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            names::to_label(&format!("g{name}"))
        } else {
            name
        }
    };
    let mut names = vec![kind.clone(), with(group), with(full_group)];
    names.dedup();
    names
}
