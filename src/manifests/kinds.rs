//! The kinds that the project's code may name.

use super::crd::Crd;
use crate::project::Project;
use crate::resource::kubernetes;
use crate::resource::target::Target;

/// Every kind whose type has a name that kbr knows, and what the project is called.
pub struct Kinds {
    all: Vec<Target>,
    pub project: String,
    pub manager_id: String,
}

impl Kinds {
    /// The project's own kinds, those of other crates that it has code for, and Kubernetes'.
    pub fn of(project: &Project, crds: &[Crd]) -> Self {
        // The types count: one that PROJECT describes otherwise is left out, and nothing is said of it.
        let typed = |group: &str, kind: &str, version: &str| {
            let mut crds = crds
                .iter()
                .filter(|crd| crd.group == group && crd.kind == kind);
            crds.any(|crd| crd.versions().iter().any(|known| known["name"] == version))
        };
        let own = project
            .apis()
            .filter(|api| typed(&api.full_group, &api.kind, &api.version))
            .map(Target::own);
        let foreign = project.targets().filter(|kind| !kind.is_own());
        let kubernetes = kubernetes::kinds().map(|kind| Target::kubernetes(&kind));
        Self {
            all: own.chain(foreign.cloned()).chain(kubernetes).collect(),
            project: project.head.name.clone(),
            manager_id: project.manager_id(),
        }
    }

    /// The kind of the type with this path.
    pub fn find(&self, type_path: &str) -> Option<&Target> {
        self.all.iter().find(|kind| kind.type_path == type_path)
    }
}
