//! PROJECT -> the pristine tree: every file as kbr would write it, and its policy. Does no I/O.
//!
//! Each table of PROJECT contributes files and lines; the tree is all contributions in the order of the tables. A command writes
//! what its own tables contribute ([`difference`]), or removes what only they contribute ([`removal`]).

mod contributions;
mod difference;
mod edit;
mod file;
mod removal;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};

use crate::project::Project;
use crate::release::Release;
use crate::scaffold::{Part, Paths, Policy};

pub use difference::{Differing, Presence, WantedFile, difference};
pub use edit::Edit;
pub use file::{File, Lines};
pub use removal::{UnwantedFile, removal};

/// A contributor to the tree: the head of PROJECT, or one of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `kbr init`
    Head,
    /// A table, by its index.
    Table(usize),
}

/// The pristine tree of a project, without PROJECT itself. Paths are relative to the root, with `/` as the separator.
#[derive(Debug, Default)]
pub struct Blueprint {
    files: BTreeMap<String, File>,
}

impl Blueprint {
    /// The tree of `project`, as `release` writes it.
    ///
    /// # Errors
    /// A mistake in the templates.
    pub fn new(project: &Project, release: &Release) -> anyhow::Result<Self> {
        Self::of(project, release, Paths::All)
    }

    /// The files at `paths` of the tree of `project`.
    fn of(project: &Project, release: &Release, paths: Paths) -> anyhow::Result<Self> {
        let sets = release.scaffolds.sets();
        let mut blueprint = Blueprint::default();
        for source in sources(project) {
            let parts = contributions::parts(source, project, release, &sets, paths)?;
            blueprint.add(source, parts)?;
        }
        Ok(blueprint)
    }

    /// The files of the tree to which `tables` contribute, each with the contributions of all tables.
    ///
    /// # Errors
    /// As [`Blueprint::new`].
    pub fn around(tables: &[Source], project: &Project, release: &Release) -> anyhow::Result<Self> {
        let sets = release.scaffolds.sets();
        let mut own = BTreeMap::new();
        for source in tables {
            let parts = contributions::parts(*source, project, release, &sets, Paths::All)?;
            own.insert(*source, parts);
        }
        let paths = own.values().flatten().map(|part| part.path().to_owned());
        let paths: BTreeSet<String> = paths.collect();
        let mut blueprint = Blueprint::default();
        for source in sources(project) {
            let parts = match own.remove(&source) {
                Some(parts) => parts,
                None => {
                    contributions::parts(source, project, release, &sets, Paths::These(&paths))?
                }
            };
            blueprint.add(source, parts)?;
        }
        Ok(blueprint)
    }

    /// The files of the tree that `other` has, too.
    ///
    /// # Errors
    /// As [`Blueprint::new`].
    pub fn same_files(
        other: &Blueprint,
        project: &Project,
        release: &Release,
    ) -> anyhow::Result<Self> {
        let paths = other.files.keys().cloned().collect();
        Self::of(project, release, Paths::These(&paths))
    }

    /// Every file, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Adds the contributions of `source`.
    ///
    /// # Errors
    /// Two tables write the same file differently.
    pub fn add(&mut self, source: Source, parts: Vec<Part>) -> anyhow::Result<()> {
        for part in parts {
            match part {
                Part::Whole { path, policy, text } => {
                    self.whole(source, &path, policy, text).with_context(|| {
                        format!("`{path}`: this is a bug in kbr, please report it")
                    })?;
                }
                Part::Lines {
                    path,
                    marker,
                    once,
                    lines,
                } => {
                    let file = self.files.entry(path).or_default();
                    file.lines.push(Lines {
                        source,
                        marker,
                        once,
                        text: lines,
                    });
                }
            }
        }
        Ok(())
    }

    /// Changes the text of a file.
    ///
    /// # Errors
    /// No contribution has the text that is replaced: a mistake in the caller.
    pub fn edit(&mut self, edit: &Edit) -> anyhow::Result<()> {
        let path = edit.path();
        let file = self.files.get_mut(path);
        let done = file.is_some_and(|file| edit.apply(file));
        if !done {
            bail!("`{path}` has not what is to be changed: this is a bug in kbr, please report it");
        }
        Ok(())
    }

    fn whole(
        &mut self,
        source: Source,
        path: &str,
        policy: Policy,
        text: String,
    ) -> anyhow::Result<()> {
        let file = self.files.entry(path.to_owned()).or_default();
        if policy == Policy::Owned && file.base.as_ref().is_some_and(|base| *base != text) {
            bail!("two tables of PROJECT need it with different contents");
        }
        file.base.get_or_insert(text);
        // One owner is enough, even if other tables only need the file to exist.
        if file.writers.is_empty() || policy == Policy::Owned {
            file.policy = policy;
        }
        file.writers.push(source);
        Ok(())
    }
}

/// All contributors, in the order of PROJECT.
fn sources(project: &Project) -> impl Iterator<Item = Source> {
    std::iter::once(Source::Head).chain((0..project.tables.len()).map(Source::Table))
}

#[cfg(test)]
mod tests;
