//! What a command removes: the part of the tree that comes only from the tables that go.

use super::{Blueprint, File};
use crate::edit::{Snippet, snippets};

/// A file that goes or loses lines.
#[derive(Debug)]
pub struct UnwantedFile<'a> {
    /// The file's path.
    pub path: &'a str,
    /// The file with the lines of all tables.
    pub before: &'a File,
    /// The file without the tables that go; `None` if nothing writes it any more.
    pub after: Option<&'a File>,
    /// The lines that go, each with its marker, in order. Empty if the whole file goes, or if lines only change their order.
    pub lines: Vec<(&'a str, String)>,
}

/// The files of `before` that differ in `after`, the tree without some tables, sorted by path. A file also differs if its lines only
/// have another order.
///
/// # Errors
/// A mistake in the templates.
pub fn removal<'a>(
    before: &'a Blueprint,
    after: &'a Blueprint,
) -> anyhow::Result<Vec<UnwantedFile<'a>>> {
    let unwanted = |(path, file)| self::file(path, file, after).transpose();
    before.files().filter_map(unwanted).collect()
}

/// What happens to one file; `None` if it stays as it is.
fn file<'a>(
    path: &'a str,
    before: &'a File,
    tree: &'a Blueprint,
) -> anyhow::Result<Option<UnwantedFile<'a>>> {
    let after = tree.files.get(path).filter(|file| file.base.is_some());
    let differs = match after {
        Some(after) => before.text(path)? != after.text(path)?,
        None => before.base.is_some(),
    };
    Ok(differs.then(|| UnwantedFile {
        path,
        before,
        after,
        lines: after.map_or(Vec::new(), |after| lost(before, after)),
    }))
}

/// The snippets of `before` that `after` does not have at the same marker.
fn lost<'a>(before: &'a File, after: &File) -> Vec<(&'a str, String)> {
    let mut lost: Vec<(&str, String)> = Vec::new();
    for lines in &before.lines {
        let others = after.lines.iter().filter(|it| it.marker == lines.marker);
        let others: Vec<Snippet> = others.flat_map(|it| snippets(&it.text)).collect();
        for snippet in snippets(&lines.text) {
            let text = snippet.lines.join("\n") + "\n";
            let is_kept = others.iter().any(|other| other.key() == snippet.key());
            let entry = (lines.marker.as_str(), text);
            if !is_kept && !lost.contains(&entry) {
                lost.push(entry);
            }
        }
    }
    lost
}
