//! Plan + disk -> every change, or every conflict. Reads, never writes.

mod cargo;
mod conflict;
mod outcome;
mod place;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::plan::Op;

pub use conflict::Conflict;
pub use place::{Found, locate, real};

/// The file that records what kbr has scaffolded; written last.
pub const PROJECT: &str = "PROJECT";

/// What happens to one file; each planned file has exactly one of these, and is reported with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The file is new.
    Create,
    /// Lines go into an existing file.
    Insert,
    /// The file is the user's by now, and stays as it is.
    Keep,
    /// The file is what it should be already.
    Same,
    /// The file is written over, because of `--force`.
    Force,
    /// A generated file, which is kbr's alone, is brought up to date; or becomes one that `cargo init` had left.
    Update,
    /// A generated file is removed: nothing gives it any more, and the user wants it gone.
    Remove,
}

/// What to do with an owned file that exists and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// A conflict, unless `cargo init` has left it: this is the first time that the command runs.
    Refuse,
    /// It is the user's by now: the command has run before.
    Keep,
    /// Write over it.
    Force,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the project's root, with `/`, as planned: links in it are not followed.
    pub path: String,
    /// What is reported.
    pub verb: Verb,
    /// `None` when the file is new.
    pub before: Option<Vec<u8>>,
    /// Equal to `before` for [`Verb::Keep`] and [`Verb::Same`]; empty for [`Verb::Remove`].
    pub after: Vec<u8>,
}

impl Change {
    /// Whether the commit has to write or remove this file.
    pub fn writes(&self) -> bool {
        self.before.as_deref() != self.result()
    }

    /// What the file is afterwards; `None` when it is gone.
    pub fn result(&self) -> Option<&[u8]> {
        (self.verb != Verb::Remove).then_some(&self.after)
    }
}

/// Looks at the disk and says what `ops` change there, in order of path with PROJECT last. The order of `ops` matters only among
/// those of a kind: files first, then insertions, then records. `root` may be missing.
///
/// # Errors
/// One error that lists every conflict, and what to type to resolve each. Nothing was written.
pub fn resolve(root: &Path, ops: &[Op], existing: Existing) -> anyhow::Result<Vec<Change>> {
    let root = real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let mut conflicts = Vec::new();
    let plans = fold(ops, &mut conflicts);
    let mut changes = Vec::new();
    let mut places = BTreeMap::new();
    for (path, plan) in &plans {
        let outcome = place::read(&root, path).and_then(|(place, before)| {
            if let Some(other) = places.insert(place.path, *path) {
                return Err(vec![Conflict::one_file(path, other)]);
            }
            outcome::of(path, plan, before, existing)
        });
        match outcome {
            Ok(change) => changes.push(change),
            Err(more) => conflicts.extend(more),
        }
    }
    if !conflicts.is_empty() {
        return Err(conflict::error(&conflicts));
    }
    changes.sort_by_key(|change| change.path == PROJECT);
    Ok(changes)
}

/// All that is wanted of one file.
#[derive(Debug, Default)]
struct FilePlan<'a> {
    /// The whole file, from [`Op::Create`] or [`Op::Once`].
    text: Option<&'a str>,
    /// It came from [`Op::Create`].
    owned: bool,
    /// Markers and lines.
    insertions: Vec<(&'a str, &'a str)>,
    /// Text to append.
    records: Vec<&'a str>,
}

fn fold<'a>(ops: &'a [Op], conflicts: &mut Vec<Conflict>) -> BTreeMap<&'a str, FilePlan<'a>> {
    let mut plans: BTreeMap<&str, FilePlan> = BTreeMap::new();
    for op in ops {
        match op {
            Op::Create { path, text } => {
                let plan = plans.entry(path).or_default();
                if plan.text.is_some() {
                    conflicts.push(Conflict::planned_twice(path));
                }
                (plan.text, plan.owned) = (Some(text.as_str()), true);
            }
            Op::Once { path, text } => {
                let plan = plans.entry(path).or_default();
                if plan.owned {
                    conflicts.push(Conflict::planned_twice(path));
                }
                plan.text = plan.text.or(Some(text.as_str()));
            }
            Op::Insert {
                path,
                marker,
                lines,
            } => plans
                .entry(path)
                .or_default()
                .insertions
                .push((marker, lines)),
            Op::Record { text } => plans.entry(PROJECT).or_default().records.push(text),
        }
    }
    plans
}

#[cfg(test)]
mod tests;
