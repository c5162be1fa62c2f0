//! The pristine trees of two releases and the user's files -> what an upgrade does to each file. Does no I/O.
//!
//! Three ways: the ancestor is the blueprint of PROJECT by the release that the project comes from, ours is the disk, new is the
//! blueprint by this kbr.

pub mod changes;
mod comments;
mod entries;
mod file;
pub mod library;
mod merge;
pub mod notes;
mod renames;

use std::collections::{BTreeMap, BTreeSet};

use crate::blueprint::Blueprint;
use crate::changes::{Change, Verb};
use crate::project::{KBR, Project};
use crate::release::Release;
use crate::scaffold::Policy;

pub use changes::{CHANGES, Changes, Span};
pub use merge::marked;

use file::Resolution;

/// The pristine files of one release, by path.
pub type Tree = BTreeMap<String, Pristine>;

/// A file as a release writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pristine {
    /// Who owns the file.
    pub policy: Policy,
    /// Its whole text.
    pub text: String,
}

/// The content of the files on disk that exist, by path.
pub type Disk = BTreeMap<String, Vec<u8>>;

/// What an upgrade does.
#[derive(Debug, Default)]
pub struct Plan {
    /// Sorted by path. Unchanged files are left out, except those that are [`Verb::Keep`].
    pub changes: Vec<Change>,
    /// The files with conflict markers.
    pub conflicts: Vec<Conflict>,
    /// Changes of the scaffolds that were not merged into the user's code.
    pub unmerged: Vec<Unmerged>,
    /// Files that are not UTF-8 text, or have more lines than are merged, so that the changes of the release are missing in them. They stay.
    pub not_text: Vec<String>,
    /// Files that the user deleted. They stay deleted.
    pub deleted: Vec<String>,
    /// Files that the new release no longer has, but that the user has edited. They stay.
    pub dropped: Vec<String>,
}

/// The three versions of a file with conflict markers: the stages of git's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the project's root.
    pub path: String,
    /// `None` if the earlier release had no such file.
    pub ancestor: Option<Vec<u8>>,
    /// The user's content.
    pub ours: Vec<u8>,
    /// The content in the newer release.
    pub new: Vec<u8>,
}

/// What a release changed in lines that the user changed, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmerged {
    /// Relative to the project's root.
    pub path: String,
    /// The earlier lines with `-`, the new ones with `+`; parts are divided by `@@`.
    pub diff: String,
}

/// The files of `project` as `release` writes them.
///
/// # Errors
/// A mistake in the templates.
pub fn tree(project: &Project, release: &Release) -> anyhow::Result<Tree> {
    let blueprint = Blueprint::new(project, release)?;
    let files = blueprint.files().map(|(path, file)| {
        let (policy, text) = (file.policy, file.text(path)?);
        Ok((path.to_owned(), Pristine { policy, text }))
    });
    files.collect()
}

/// The paths of the files that an upgrade reads.
pub fn paths<'a>(ancestor: &'a Tree, new: &'a Tree) -> BTreeSet<&'a str> {
    ancestor
        .keys()
        .chain(new.keys())
        .map(String::as_str)
        .collect()
}

/// What the upgrade from `ancestor` to `new` does to the files in `disk`: those of both trees, and the project's other Rust files. The
/// library is replaced: whether it may be is up to [`library::edited`].
pub fn plan(ancestor: &Tree, new: &Tree, disk: &Disk, span: Span, changes: &Changes) -> Plan {
    let mut plan = Plan::default();
    for path in paths(ancestor, new) {
        let sides = Sides {
            path,
            ancestor: ancestor.get(path),
            ours: disk.get(path).map(Vec::as_slice),
            new: new.get(path),
        };
        plan.file(&sides, span, changes);
    }
    let is_planned = |path: &String| ancestor.contains_key(path) || new.contains_key(path);
    let own = disk.iter().filter(|(path, _)| !is_planned(path));
    for (path, content) in own.filter(|(path, _)| !crate::library::has(path)) {
        plan.own(path, content, span, changes);
    }
    plan.dropped.extend(library::added(ancestor, disk).cloned());
    plan.changes.sort_by(|a, b| a.path.cmp(&b.path));
    plan
}

/// What becomes of the file at `path`, if its text was `ancestor` and is `new` now: a plan for this file alone.
pub fn merge_file(path: &str, ancestor: &str, ours: Option<&[u8]>, new: &str) -> Plan {
    let pristine = |text: &str| Pristine {
        policy: Policy::Owned,
        text: text.to_owned(),
    };
    let (ancestor, new) = (pristine(ancestor), pristine(new));
    let sides = Sides {
        path,
        ancestor: Some(&ancestor),
        ours,
        new: Some(&new),
    };
    let mut plan = Plan::default();
    // No release is passed.
    plan.file(&sides, Span { from: KBR, to: KBR }, &CHANGES);
    plan
}

/// One file in three versions.
#[derive(Clone, Copy, Debug)]
struct Sides<'a> {
    path: &'a str,
    ancestor: Option<&'a Pristine>,
    ours: Option<&'a [u8]>,
    new: Option<&'a Pristine>,
}

impl Plan {
    fn file(&mut self, sides: &Sides, span: Span, changes: &Changes) {
        let path = sides.path.to_owned();
        let before = sides.ours.map(<[u8]>::to_vec);
        let mut change = |verb, after: Vec<u8>| {
            let (path, before) = (path.clone(), before.clone());
            self.changes.push(Change {
                path,
                verb,
                before,
                after,
            });
        };
        match file::resolution(sides, span, changes) {
            Resolution::Same => {}
            Resolution::NotText => self.not_text.push(path),
            Resolution::Keep => change(Verb::Keep, before.clone().unwrap_or_default()),
            Resolution::Write(text) if before.is_none() => change(Verb::Create, text.into_bytes()),
            Resolution::Write(text) => change(Verb::Update, text.into_bytes()),
            Resolution::Merge { text, unmerged } => {
                let after = text.into_bytes();
                let is_same = before.as_ref() == Some(&after);
                let verb = if is_same { Verb::Keep } else { Verb::Merge };
                change(verb, after);
                if !unmerged.is_empty() {
                    let diff = unmerged;
                    self.unmerged.push(Unmerged { path, diff });
                }
            }
            Resolution::Conflict(text) => {
                change(Verb::Conflict, text.into_bytes());
                let bytes = |side: &Pristine| side.text.clone().into_bytes();
                self.conflicts.push(Conflict {
                    path,
                    ancestor: sides.ancestor.map(bytes),
                    ours: before.unwrap_or_default(),
                    new: sides.new.map(bytes).unwrap_or_default(),
                });
            }
            Resolution::Remove => change(Verb::Remove, Vec::new()),
            Resolution::StaysDeleted => self.deleted.push(path),
            Resolution::Dropped => self.dropped.push(path),
        }
    }

    /// A file of the user's, in which names of the library may have changed.
    fn own(&mut self, path: &str, content: &[u8], span: Span, changes: &Changes) {
        let Ok(text) = str::from_utf8(content) else {
            return;
        };
        let after = renames::renewed(path, text, span, changes);
        if after != text {
            self.changes.push(Change {
                path: path.to_owned(),
                verb: Verb::Merge,
                before: Some(content.to_vec()),
                after: after.into_bytes(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
