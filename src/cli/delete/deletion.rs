//! A deletion: the project before, and what becomes of each of its tables.

use std::collections::BTreeSet;
use std::path::Path;

use crate::embedded;
use kbr_host::lines::Lines;
use kbr_manifests::files_of_kind;
use kbr_scaffold::blueprint::{self, Blueprint, Source};
use kbr_scaffold::changes::removal::{self, Removal, Removed};
use kbr_scaffold::project::{Project, Table};
use kbr_scaffold::resource::Resource;

/// What a command removes from PROJECT.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The project before.
    pub before: Project,
    /// Each of its tables afterwards; `None` for those that go.
    pub tables: Vec<Option<Table>>,
}

impl Deletion {
    /// Removes nothing yet.
    pub fn of(project: &Project) -> Self {
        Deletion {
            before: project.clone(),
            tables: project.tables.iter().cloned().map(Some).collect(),
        }
    }

    /// Replaces each table by what `change` returns for it.
    pub fn change(&mut self, change: impl Fn(&Table) -> Option<Table>) {
        for table in &mut self.tables {
            *table = table.as_ref().and_then(&change);
        }
    }

    /// Whether no table differs.
    pub fn is_empty(&self) -> bool {
        self.changed().is_empty()
    }

    /// The project afterwards.
    pub fn after(&self) -> Project {
        Project {
            tables: self.tables.iter().flatten().cloned().collect(),
            ..self.before.clone()
        }
    }

    /// The tables that go.
    pub fn gone(&self) -> impl Iterator<Item = &Table> {
        let pairs = self.before.tables.iter().zip(&self.tables);
        pairs.filter_map(|(before, after)| after.is_none().then_some(before))
    }

    /// The versions of own kinds that go.
    pub fn apis(&self) -> impl Iterator<Item = &Resource> {
        self.gone().filter_map(|table| match table {
            Table::Api(api) => Some(api),
            _ => None,
        })
    }

    /// The versions of own kinds that go and leave no other version behind.
    pub fn last_versions(&self) -> Vec<&Resource> {
        let after = self.after();
        let is_last = |api: &&Resource| !after.apis().any(|other| other.is_version_of(api));
        self.apis().filter(is_last).collect()
    }

    fn changed(&self) -> Vec<Source> {
        let pairs = self.before.tables.iter().zip(&self.tables).enumerate();
        let changed = pairs.filter(|(_, (before, after))| Some(*before) != after.as_ref());
        changed.map(|(at, _)| Source::Table(at)).collect()
    }

    /// The changes on disk.
    ///
    /// # Errors
    /// Every conflict.
    pub fn resolve(&self, root: &Path, force: bool) -> anyhow::Result<Removed> {
        let release = embedded::current()?;
        let before = Blueprint::around(&self.changed(), &self.before, &release)?;
        let after = Blueprint::same_files(&before, &self.after(), &release)?;
        let generated = self.last_versions().into_iter();
        let removal = Removal {
            files: blueprint::removal(&before, &after)?,
            generated: generated.flat_map(files_of_kind).collect(),
            tables: self.tables.clone(),
            api: format!("{}_api", self.before.head.name.replace('-', "_")),
            force,
        };
        removal::resolve(root, &removal)
    }

    /// Consequences in the project that the user might not expect.
    pub fn notes(&self) -> Lines {
        let mut text = Lines::default();
        let lines = |project: &Project| -> BTreeSet<String> {
            let lines = project.targets().filter_map(|it| it.dependency.clone());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let after = self.after();
        if !lines(&self.before).is_subset(&lines(&after)) {
            text.add("note: the next cargo command removes unused packages from `Cargo.lock`");
        }
        for hub in self.before.webhooks().filter(|it| !it.spokes.is_empty()) {
            let target = &hub.target;
            let versions = after.versions(target).count();
            if versions > 1 && after.hub(&target.full_group, &target.kind).is_none() {
                text.add(format_args!(
                    "note: nothing converts the versions of `{}` now: keep their fields equal",
                    target.kind
                ));
                break;
            }
        }
        text
    }
}
