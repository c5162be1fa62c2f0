//! What becomes of the generated files: shown as a diff, or written; and what is told of it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::bail;

use super::files::{self, Compared, File};
use super::problem::Problem;
use crate::changes::{Change, Verb};
use crate::cli::report;
use crate::commit;
use crate::output;

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
    fn compare(&self, root: &Path) -> anyhow::Result<Compared> {
        let mut compared = files::compare(root, &self.files)?;
        compared.changes.extend(self.samples.iter().cloned());
        Ok(compared)
    }

    /// How many files are right already.
    fn same(&self, compared: &Compared) -> usize {
        let written = |file: &&File| {
            compared
                .changes
                .iter()
                .any(|change| change.path == file.path)
        };
        self.files.len() - self.files.iter().filter(written).count() - compared.kept.len()
    }
}

/// Shows what is stale, as a diff on stdout.
///
/// # Errors
/// Anything is.
pub fn check(root: &Path, generated: &Generated) -> anyhow::Result<()> {
    let compared = generated.compare(root)?;
    for change in &compared.changes {
        output::data(&files::diff(change))?;
    }
    leftovers(&compared);
    let stale = compared.changes.len() + compared.gone.len();
    if stale > 0 {
        let files = if stale == 1 {
            "1 manifest is".to_owned()
        } else {
            format!("{stale} manifests are")
        };
        bail!("{files} stale, nothing was written\nhelp: run `kbr manifests`");
    }
    Ok(())
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

/// Says what was written, kept and left over.
pub fn tell(generated: &Generated, compared: &Compared) {
    report::report(&compared.changes);
    leftovers(compared);
    let same = generated.same(compared);
    if same > 0 {
        let all = generated.files.len();
        output::message(format_args!("{:>12} {same} of {all} manifests", "same"));
    }
}

/// The same in one line: `1 create, 2 update, 3 same`.
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

/// What is neither written nor right.
fn leftovers(compared: &Compared) {
    for path in &compared.kept {
        output::message(format_args!(
            "{:>12} {path} (yours: it does not begin with kbr's first line)",
            "keep"
        ));
    }
    for Change { path, .. } in &compared.gone {
        output::message(format_args!(
            "warning: no type gives `{path}` any more\n    help: `kbr manifests --prune` removes it"
        ));
    }
}
