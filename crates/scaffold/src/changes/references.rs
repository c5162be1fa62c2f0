//! Finds what would dangle: mentions of removed code in the Rust sources that remain, and of removed files in kustomizations.
//!
//! Names are resolved by the `use` items of their file, not by the compiler: macros and code that is built from other files are not
//! seen. Comments and strings do not count.

mod kustomize;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use similar::TextDiff;

use super::place::{self, Locator};
use super::{Change, Verb};
use crate::project::PROJECT;
use crate::rust::is_rust;
use kbr_host::diagnostic::Problem;

/// Folders that hold no sources of the project.
const SKIPPED: [&str; 2] = ["target", "third_party"];

/// A line that refers to something that is removed.
#[derive(Debug)]
struct Mention {
    /// From 1.
    number: usize,
    line: String,
    /// What it refers to, as `uses …`.
    what: String,
    help: String,
}

impl Mention {
    fn problem(&self, path: &str, number: usize) -> Problem {
        let Mention {
            line, what, help, ..
        } = self;
        Problem::new(format_args!(
            "`{path}:{number}` {what}, which would be removed: `{line}`"
        ))
        .help(help)
    }
}

/// What other conflicts report, so that it is not reported twice.
#[derive(Debug, Default)]
pub struct Reported {
    /// Files whose changes are unknown.
    pub files: BTreeSet<String>,
    /// Lines of files on disk, from 1, that would go without the conflict.
    pub lines: BTreeSet<(String, usize)>,
}

/// Everything in the project at `root` that refers to what `changes`, by path, remove. `api` is the name of the crate of the types.
///
/// # Errors
/// A folder cannot be read.
pub fn dangling(
    root: &Path,
    changes: &BTreeMap<String, Change>,
    api: &str,
    reported: &Reported,
) -> anyhow::Result<Vec<Problem>> {
    let removed = |change: &&Change| change.verb == Verb::Remove;
    let removed: Vec<&Change> = changes.values().filter(removed).collect();
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    let gone = rust::Gone::new(&removed, api);
    let mut problems = Vec::new();
    let locator = Locator::new(root);
    let sources = sources(root)?.into_iter();
    for path in sources.filter(|path| !reported.files.contains(path)) {
        let change = changes.get(&path);
        let text = match change.map(Change::result) {
            Some(None) => continue,
            Some(Some(after)) => after.to_vec(),
            None => match place::read(&locator, &path) {
                Ok((_, Some(text))) => text,
                // A link to nowhere or out of the project, no regular file, or one that ended meanwhile.
                _ => continue,
            },
        };
        let text = String::from_utf8_lossy(&text);
        let mentions = if is_rust(&path) {
            gone.mentions(&path, &text)
        } else {
            kustomize::mentions(&path, &text, &removed)
        };
        let numbers = change.filter(|_| !mentions.is_empty()).map(on_disk);
        for mention in mentions {
            let number = mention.number;
            let on_disk = numbers.as_ref().and_then(|it| it.get(&number));
            let number = on_disk.copied().unwrap_or(number);
            if !reported.lines.contains(&(path.clone(), number)) {
                problems.push(mention.problem(&path, number));
            }
        }
    }
    Ok(problems)
}

/// The numbers of lines in the file on disk, by their numbers in the changed file.
fn on_disk(change: &Change) -> BTreeMap<usize, usize> {
    let before = String::from_utf8_lossy(change.before.as_deref().unwrap_or_default());
    let after = String::from_utf8_lossy(&change.after);
    let mut first = BTreeMap::new();
    for (at, line) in before.lines().enumerate() {
        first.entry(line).or_insert(at);
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (new, line) in after.lines().enumerate() {
        numbers.extend(first.get(line).map(|old| (new + 1, old + 1)));
    }
    let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
    let same = diff.iter_all_changes();
    numbers.extend(same.filter_map(|it| Some((it.new_index()? + 1, it.old_index()? + 1))));
    numbers
}

/// The Rust files and kustomizations of the project, sorted.
fn sources(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let shown = || format!("cannot list `{folder}`");
        for entry in fs::read_dir(root.join(&folder)).with_context(shown)? {
            let entry = entry.with_context(shown)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{folder}/{name}")
            };
            let kind = entry.file_type().with_context(shown)?;
            let is_hidden = name.starts_with('.') || SKIPPED.contains(&name.as_str());
            if kind.is_dir() && !is_hidden && !root.join(&path).join(PROJECT).is_file() {
                folders.push(path);
            } else if !kind.is_dir() && (is_rust(&name) || kustomize::is_kustomization(&name)) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
