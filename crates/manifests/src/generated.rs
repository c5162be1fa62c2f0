//! Compares, writes and summarizes the generated files.

use std::fmt::Write as _;
use std::path::Path;

use super::files::{self, Compared, File, Leftovers};
use super::problem::Problem;
use kbr_scaffold::changes::Verb;
use kbr_scaffold::commit;
use kbr_scaffold::edited::Mark;

/// The files that were generated from the code.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// Every generated file.
    pub files: Vec<File>,
    /// Where files are left over whose source has gone.
    pub leftovers: Vec<Leftovers>,
    /// Warnings for the user.
    pub warnings: Vec<Problem>,
}

impl Generated {
    /// Compares these files with the project at `root`.
    pub fn compare(&self, root: &Path) -> anyhow::Result<Compared> {
        files::compare(root, &self.files, &self.leftovers)
    }

    /// The number of files that are generated each time: of the samples, only those to be repaired are here.
    pub fn total(&self) -> usize {
        let is_sample = |file: &&File| file.mark == Mark::Checksum;
        self.files.len() - self.files.iter().filter(is_sample).count()
    }

    /// The number of files that are up to date.
    pub fn same(&self, compared: &Compared) -> usize {
        let written = |file: &&File| {
            compared
                .changes
                .iter()
                .any(|change| change.path == file.path)
        };
        self.files.len() - self.files.iter().filter(written).count() - compared.kept.len()
    }
}

/// Writes stale files and, with `prune`, removes orphaned ones. Returns the differences that were found.
///
/// # Errors
/// A file cannot be written; the project is unchanged.
pub fn write(root: &Path, generated: &Generated, prune: bool) -> anyhow::Result<Compared> {
    let compare = || {
        let mut compared = generated.compare(root)?;
        if prune {
            let orphaned = compared.orphaned.drain(..).map(|(_, change)| change);
            compared.changes.extend(orphaned);
        }
        anyhow::Ok(compared)
    };
    let mut compared = compare()?;
    // Takes no lock if there are no changes: several builds and tests may run at the same time.
    if !compared.changes.is_empty() {
        let lock = commit::lock(root)?;
        compared = compare()?;
        commit::commit(&lock, &compared.changes)?;
    }
    Ok(compared)
}

/// The result in one line: `create a.yaml, update b.yaml, 3 same`.
pub fn summary(generated: &Generated, compared: &Compared) -> String {
    let mut line = String::new();
    let verbs = [
        (Verb::Create, "create"),
        (Verb::Update, "update"),
        (Verb::Remove, "remove"),
    ];
    for (verb, word) in verbs {
        let paths = compared.changes.iter().filter(|change| change.verb == verb);
        let paths: Vec<&str> = paths.map(|change| change.path.as_str()).collect();
        if !paths.is_empty() {
            write!(line, "{word} {}, ", paths.join(" ")).ok();
        }
    }
    write!(line, "{} same", generated.same(compared)).ok();
    line
}
