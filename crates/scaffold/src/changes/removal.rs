//! What a command removes + the disk -> every change, or every conflict. Never writes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::place::{self, Locator, real};
use super::references::Reported;
use super::{Change, Verb, conflict, outcome, references};
use crate::blueprint::UnwantedFile;
use crate::edit;
use crate::edited::is_generated;
use crate::project::{self, PROJECT, Table};
use crate::rust::is_rust;
use crate::scaffold::Policy;
use kbr_host::diagnostic::{Diagnostic, Problem};

/// What a command removes from a project.
#[derive(Debug)]
pub struct Removal<'a> {
    /// The files that go or lose lines.
    pub files: Vec<UnwantedFile<'a>>,
    /// Files that `kbr manifests` generated from what goes.
    pub generated: Vec<String>,
    /// The tables of PROJECT afterwards, in the place of those before: see [`project::without`].
    pub tables: Vec<Option<Table>>,
    /// The name of the crate of the types, as in Rust.
    pub api: String,
    /// Whether files go even if the user has edited them.
    pub force: bool,
}

/// The changes, and what the user should know about what stays.
#[derive(Debug)]
pub struct Removed {
    /// Sorted by path, PROJECT last.
    pub changes: Vec<Change>,
    /// Lines and files that stay, because kbr did not write them like that, and edits that go by force.
    pub notes: Vec<Problem>,
}

/// Compares `removal` with the disk.
///
/// # Errors
/// One error that lists every conflict and how to resolve it. Nothing was written.
pub fn resolve(root: &Path, removal: &Removal) -> anyhow::Result<Removed> {
    let root = real(root).with_context(|| format!("cannot read `{}`", root.display()))?;
    let locator = Locator::new(&root);
    let mut found = Findings::default();
    let mut by_path = BTreeMap::new();
    let mut add = |path: &str,
                   change: Result<Option<Change>, Vec<Problem>>,
                   found: &mut Findings| match change {
        Ok(change) => by_path.extend(change.map(|it| (it.path.clone(), it))),
        Err(more) => {
            found.conflicts.extend(more);
            found.reported.files.insert(path.to_owned());
        }
    };
    for file in &removal.files {
        let change = change(&locator, file, removal.force, &mut found);
        add(file.path, change, &mut found);
    }
    for path in &removal.generated {
        let change = generated(&locator, path, &mut found);
        add(path, change, &mut found);
    }
    let dangling = references::dangling(&root, &by_path, &removal.api, &found.reported)?;
    found.conflicts.extend(dangling);
    let record = place::read(&locator, PROJECT);
    let record = record.and_then(|(_, before)| self::record(&removal.tables, before));
    let mut changes: Vec<Change> = by_path.into_values().collect();
    match record {
        Ok(record) => changes.push(record),
        Err(more) => found.conflicts.extend(more),
    }
    if !found.conflicts.is_empty() {
        return Err(Diagnostic::conflicts(found.conflicts).into());
    }
    Ok(Removed {
        changes,
        notes: found.notes,
    })
}

/// What is wrong with files whose changes are known all the same, so that what depends on them is judged correctly.
#[derive(Debug, Default)]
struct Findings {
    conflicts: Vec<Problem>,
    notes: Vec<Problem>,
    reported: Reported,
}

impl Findings {
    /// Something that the user has edited, and that goes only by force.
    fn edited(&mut self, force: bool, conflict: Problem, note: Problem) {
        if force {
            self.notes.push(note);
        } else {
            self.conflicts.push(conflict);
        }
    }
}

/// The change of PROJECT.
fn record(tables: &[Option<Table>], before: Option<Vec<u8>>) -> Result<Change, Vec<Problem>> {
    let text = str::from_utf8(before.as_deref().unwrap_or_default())
        .map_err(|_| vec![conflict::not_utf8(PROJECT)])?;
    match project::without(text, tables) {
        Ok(Some(after)) => Ok(cut(PROJECT, before, after.into_bytes())),
        Ok(None) => Err(vec![conflict::conflict(
            PROJECT,
            "has tables in a form that kbr cannot edit",
            format_args!("write each table of `{PROJECT}` under its own header: `[[api]]`"),
        )]),
        Err(error) => Err(vec![conflict::mistake(&error)]),
    }
}

fn cut(path: &str, before: Option<Vec<u8>>, after: Vec<u8>) -> Change {
    Change {
        path: path.to_owned(),
        verb: Verb::RemoveLines,
        before,
        after,
    }
}

fn removed(path: &str, before: Vec<u8>) -> Change {
    Change {
        path: path.to_owned(),
        verb: Verb::Remove,
        before: Some(before),
        after: Vec::new(),
    }
}

/// The change of a generated file, which the user can replace.
fn generated(
    locator: &Locator,
    path: &str,
    found: &mut Findings,
) -> Result<Option<Change>, Vec<Problem>> {
    let (_, Some(before)) = place::read(locator, path)? else {
        return Ok(None);
    };
    if is_generated(&before) {
        if place::is_link(locator, path) {
            found.conflicts.push(conflict::link(path));
        }
        return Ok(Some(removed(path, before)));
    }
    found.notes.push(Problem::new(format_args!(
        "kept `{path}`: it lacks kbr's header"
    )));
    Ok(None)
}

/// The change of one file; `None` if it is missing, or has nothing of what goes.
fn change(
    locator: &Locator,
    file: &UnwantedFile,
    force: bool,
    found: &mut Findings,
) -> Result<Option<Change>, Vec<Problem>> {
    let path = file.path;
    let (_, Some(before)) = place::read(locator, path)? else {
        return Ok(None);
    };
    let mistake = |error: anyhow::Error| vec![conflict::mistake(&error)];
    let pristine = file.before.text(path).map_err(mistake)?;
    let Some(kept) = file.after else {
        if place::is_link(locator, path) {
            found.conflicts.push(conflict::link(path));
        } else if !is_pristine(file, &before, &pristine) {
            let edited = conflict::edited(path);
            found.edited(force, edited, conflict::discarded(path));
        }
        return Ok(Some(removed(path, before)));
    };
    let text = str::from_utf8(&before).map_err(|_| vec![conflict::not_utf8(path)])?;
    let kept = kept.text(path).map_err(mistake)?;
    let after = if text == pristine {
        kept
    } else if text == pristine.replace('\n', "\r\n") {
        kept.replace('\n', "\r\n")
    } else {
        without_lines(file, text, &kept, force, found)
    };
    if after == text {
        return Ok(None);
    }
    let change = cut(path, Some(before), after.into_bytes());
    outcome::check_syntax(&change)?;
    Ok(Some(change))
}

/// Whether removing the whole file loses nothing of the user's. git may have converted line endings.
fn is_pristine(file: &UnwantedFile, before: &[u8], pristine: &str) -> bool {
    let text = || {
        str::from_utf8(before)
            .ok()
            .map(|it| it.replace("\r\n", "\n"))
    };
    let is_written = || text().is_some_and(|text| text == pristine);
    is_generated(before) || file.before.policy != Policy::Generated && is_written()
}

/// An edited file without the lines that are as kbr wrote them. `kept` is the file as kbr would write it afterwards.
fn without_lines(
    file: &UnwantedFile,
    text: &str,
    kept: &str,
    force: bool,
    found: &mut Findings,
) -> String {
    let path = file.path;
    let mut going = Vec::new();
    let shown: Vec<&str> = text.lines().collect();
    for (marker, lines) in &file.lines {
        let located = match edit::locate(path, text, marker, lines, kept) {
            Ok(located) => located,
            Err(at) => {
                let known = known(lines, &shown);
                let in_file = known.iter().map(|number| (path.to_owned(), *number));
                found.reported.lines.extend(in_file);
                if at.is_empty() {
                    // Without its marker, the scope of a line is unknown.
                    let unmarked =
                        |number| conflict::unmarked(path, marker, number, shown[number - 1]);
                    found.conflicts.extend(known.into_iter().map(unmarked));
                } else {
                    let repeated = conflict::marker(path, marker, &at, None, text, lines);
                    found.conflicts.push(repeated);
                }
                continue;
            }
        };
        for it in located {
            let (number, line) = (it.key + 1, shown[it.key]);
            if it.is_as_written || it.is_block {
                if !it.is_as_written {
                    let edited = conflict::edited_block(path, number, line);
                    found.edited(force, edited, conflict::discarded_block(path, number, line));
                }
                going.push(it);
            } else {
                found.notes.push(conflict::stays(path, number, line));
            }
        }
    }
    if is_rust(path) {
        let emptied = edit::emptied(text, &going).into_iter();
        let notes = emptied.map(|at| conflict::emptied(path, at + 1, shown[at]));
        found.notes.extend(notes);
    }
    edit::cut(text, &going)
}

/// The numbers of the lines, from 1, that may be some of `lines`.
fn known(lines: &str, shown: &[&str]) -> Vec<usize> {
    let snippets = edit::snippets(lines);
    let is_known = |line: &str| snippets.iter().any(|it| it.key().trim() == line.trim());
    let numbered = (1..).zip(shown).filter(|(_, line)| is_known(line));
    numbered.map(|(number, _)| number).collect()
}
