//! What becomes of the generated files.

use std::fmt::Write as _;
use std::path::Path;

use super::files::{self, Compared, File};
use super::problem::Problem;
use crate::changes::{Change, Verb};
use crate::commit;

/// What comes of the code.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// Every file as it should be.
    pub files: Vec<File>,
    /// Samples that are to become valid again.
    pub samples: Vec<Change>,
    /// What a person should know.
    pub warnings: Vec<Problem>,
}

impl Generated {
    /// The project at `root` beside it.
    pub fn compare(&self, root: &Path) -> anyhow::Result<Compared> {
        let mut compared = files::compare(root, &self.files)?;
        compared.changes.extend(self.samples.iter().cloned());
        Ok(compared)
    }

    /// How many files are right already.
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

/// Writes what is stale; with `prune`, removes what nothing gives any more. Gives what became of each file.
///
/// # Errors
/// Something cannot be written; the project is as it was.
pub fn write(root: &Path, generated: &Generated, prune: bool) -> anyhow::Result<Compared> {
    let compare = || {
        let mut compared = generated.compare(root)?;
        if prune {
            compared.changes.append(&mut compared.gone);
        }
        anyhow::Ok(compared)
    };
    let mut compared = compare()?;
    // Without changes there is nothing to lock for: builds and tests that run side by side all come this way.
    if !compared.changes.is_empty() {
        let lock = commit::lock(root)?;
        compared = compare()?;
        commit::commit(&lock, &compared.changes)?;
    }
    Ok(compared)
}

/// What became of the files, in one line: `1 create, 2 update, 3 same`.
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
