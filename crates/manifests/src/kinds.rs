//! The kinds that the project's code may use.

use super::crd::Crd;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::kubernetes;
use kbr_scaffold::resource::target::Target;

/// Every kind with a known type path, and the names of the project.
pub struct Kinds {
    all: Vec<Target>,
    /// The operator's namespace.
    pub namespace: String,
    pub manager_id: String,
}

impl Kinds {
    /// The project's own kinds, the external kinds that it has code for, and the built-in kinds.
    pub fn of(project: &Project, crds: &[Crd]) -> Self {
        // The types decide: a kind that PROJECT describes differently is left out, and not reported.
        let typed = |group: &str, kind: &str, version: &str| {
            let mut crds = crds
                .iter()
                .filter(|crd| crd.group == group && crd.kind == kind);
            crds.any(|crd| crd.versions().iter().any(|known| known["name"] == version))
        };
        Self::with(project, &|api| {
            typed(&api.full_group, &api.kind, &api.version)
        })
    }

    /// The same with all own kinds of PROJECT, whatever their types are.
    pub fn recorded(project: &Project) -> Self {
        Self::with(project, &|_| true)
    }

    fn with(project: &Project, is_known: &dyn Fn(&Resource) -> bool) -> Self {
        let own = project.apis().filter(|api| is_known(api)).map(Target::own);
        let external = project.targets().filter(|kind| !kind.is_own());
        let kubernetes = kubernetes::kinds().map(|kind| Target::kubernetes(&kind));
        Self {
            all: own.chain(external.cloned()).chain(kubernetes).collect(),
            namespace: project.head.names().namespace,
            manager_id: project.manager_id(),
        }
    }

    /// The kind of the type with this path.
    pub fn find(&self, type_path: &str) -> Option<&Target> {
        self.all.iter().find(|kind| kind.type_path == type_path)
    }

    /// One version of a kind.
    pub fn version(&self, group: &str, kind: &str, version: &str) -> Option<&Target> {
        let mut all = self.all.iter();
        all.find(|it| it.full_group == group && it.kind == kind && it.version == version)
    }

    /// Whether the objects of a resource are in no namespace; a kind that kbr does not know counts as namespaced.
    pub fn is_cluster_scoped(&self, group: &str, plural: &str) -> bool {
        let mut all = self.all.iter();
        all.any(|kind| kind.full_group == group && kind.plural == plural && !kind.namespaced)
    }
}
