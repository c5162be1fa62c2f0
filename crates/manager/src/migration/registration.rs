//! Registers storage migrations.

use crate::{cache::object::Cached, manager::Manager, migration::settings::StorageMigration};

impl Manager {
    /// Rewrites all objects of `K` in the leader whenever the stored version of its CRD has changed, and then removes
    /// the old versions from `status.storedVersions` of the CRD, so that a later CRD can drop them.
    ///
    /// `K` is any version of the kind that the API server serves. Nothing is written unless `storedVersions` names
    /// another version than the one that the CRD stores now.
    ///
    /// Where the API server has `StorageVersionMigration` (`storagemigration.k8s.io/v1`, on since Kubernetes 1.37), the
    /// task creates one and lets kube-controller-manager rewrite the objects. It rewrites them itself, page by page, if
    /// the API server has none, if nothing works on it within a minute, if it fails, and if you set a
    /// [`rate`](StorageMigration::rate). An object is rewritten by a patch without changes, which never undoes the
    /// write of another client. Objects that were written since the migration began are skipped. The progress is in a
    /// condition of the CRD, so a restart continues it. An object that the API server rejects is logged and tried
    /// again; the old version stays in `storedVersions` until all are rewritten.
    ///
    /// Does nothing in an operator that watches only some namespaces, unless the kind is cluster-scoped.
    ///
    /// Needs `get` on the CRD and `patch` on its status, `list` and `patch` on `K`, and for a
    /// `StorageVersionMigration` `create`, `get` and `delete`:
    ///
    /// ```text
    /// // +kbr:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=captains.crew.example.com,verbs=get
    /// // +kbr:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=captains.crew.example.com,verbs=patch
    /// // +kbr:rbac:groups=crew.example.com,resources=captains,verbs=list;patch
    /// // +kbr:rbac:groups=storagemigration.k8s.io,resources=storageversionmigrations,verbs=create;get;delete
    /// ```
    pub fn migrate_storage<K: Cached>(&mut self) -> &mut StorageMigration {
        self.migrations.push(StorageMigration::of::<K>());
        let last = self.migrations.len() - 1;
        &mut self.migrations[last]
    }
}
