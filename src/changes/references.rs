//! Finds what would dangle: mentions of removed code in the Rust sources that remain, and of removed files in kustomizations.
//!
//! Names are resolved by the `use` items of their file, not by the compiler: macros and code that is built from other files are not
//! seen. Comments and strings do not count.

mod kustomize;
mod rust;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::{Change, Verb};
use crate::diagnostic::Problem;
use crate::edit::is_rust;
use crate::project::PROJECT;

/// Folders that hold no sources of the project.
const SKIPPED: [&str; 2] = ["target", "third_party"];

/// Everything in the project at `root` that refers to what `changes`, by path, remove.
///
/// # Errors
/// A folder cannot be read.
pub fn dangling(root: &Path, changes: &BTreeMap<String, Change>) -> anyhow::Result<Vec<Problem>> {
    let removed = |change: &&Change| change.verb == Verb::Remove;
    let removed: Vec<&Change> = changes.values().filter(removed).collect();
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    let gone = rust::Gone::new(&removed);
    let mut problems = Vec::new();
    for path in sources(root)? {
        let text = match changes.get(&path).map(Change::result) {
            Some(None) => continue,
            Some(Some(after)) => after.to_vec(),
            None => match fs::read(root.join(&path)) {
                Ok(text) => text,
                // A link to nowhere, or a file that ended meanwhile.
                Err(_) => continue,
            },
        };
        let text = String::from_utf8_lossy(&text);
        if is_rust(&path) {
            problems.extend(gone.mentions(&path, &text));
        } else {
            problems.extend(kustomize::mentions(&path, &text, &removed));
        }
    }
    Ok(problems)
}

/// The Rust files and kustomizations of the project, sorted.
fn sources(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let shown = || format!("cannot list `{folder}`, nothing was written");
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
            } else if !kind.is_dir() && (is_rust(&name) || kustomize::is(&name)) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
