//! The metrics of storage migrations.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Result {
    kind: String,
    result: &'static str,
}

/// The metrics of all storage migrations.
#[derive(Clone, Debug, Default)]
pub(super) struct Migrations {
    pending: Family<Kind, Gauge>,
    objects: Family<Result, Counter>,
}

impl Migrations {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "1 while objects of a kind may be stored in an old version";
        let pending = self.pending.clone();
        registry.register("manager_storage_migration_pending", help, pending);
        let help = "Objects that a storage migration has tried to rewrite";
        let objects = self.objects.clone();
        registry.register("manager_storage_migration_objects", help, objects);
    }

    /// The metrics of a kind, starting at zero.
    pub(super) fn of(&self, kind: &str) -> MigrationMetrics {
        let kind = kind.to_owned();
        let objects = |result| {
            let kind = kind.clone();
            self.objects.get_or_create_owned(&Result { kind, result })
        };
        MigrationMetrics {
            rewritten: objects("rewritten"),
            rejected: objects("rejected"),
            pending: self.pending.get_or_create_owned(&Kind { kind }),
        }
    }
}

/// The metrics of the storage migration of one kind.
#[derive(Clone, Debug)]
pub(crate) struct MigrationMetrics {
    pending: Gauge,
    rewritten: Counter,
    rejected: Counter,
}

impl MigrationMetrics {
    /// Sets whether objects may be stored in an old version.
    pub(crate) fn pending(&self, pending: bool) {
        self.pending.set(i64::from(pending));
    }

    /// Counts an object that was rewritten.
    pub(crate) fn rewritten(&self) {
        self.rewritten.inc();
    }

    /// Counts an object that the API server rejected.
    pub(crate) fn rejected(&self) {
        self.rejected.inc();
    }
}
