//! The difference that a command makes: the part of the tree that comes only from its tables.

use super::{Blueprint, File, Lines, Source};
use crate::scaffold::Policy;

/// A file that a command writes or adds lines to.
#[derive(Debug)]
pub struct WantedFile<'a> {
    /// The file's path.
    pub path: &'a str,
    /// The file in the tree, with the lines of all tables.
    pub file: &'a File,
    /// `None` if the command only adds lines to the file, which must then exist.
    pub whole: Option<Differing>,
    /// The lines to insert above markers if the file exists and lacks them, in order.
    pub lines: Vec<&'a Lines>,
}

/// What to do with a file that exists and differs from the one in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differing {
    /// Report a conflict: the command writes this file for the first time.
    Conflict,
    /// Keep it, because it belongs to the user by now, and only insert the command's lines.
    Keep,
    /// Overwrite it because of `--force`.
    Overwrite,
}

/// Whether PROJECT has a table before the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// This command adds it.
    New,
    /// An earlier command has added it.
    Recorded,
}

/// The files of `tree` that `tables` write or add lines to, sorted by path. With `force`, files that they own are overwritten.
pub fn difference<'a>(
    tree: &'a Blueprint,
    tables: &[(Source, Presence)],
    force: bool,
) -> Vec<WantedFile<'a>> {
    let files = tree.files();
    files
        .filter_map(|(path, file)| wanted(path, file, tables, force))
        .collect()
}

fn wanted<'a>(
    path: &'a str,
    file: &'a File,
    tables: &[(Source, Presence)],
    force: bool,
) -> Option<WantedFile<'a>> {
    let presence = |source: Source| {
        let mut known = tables.iter().filter(|(table, _)| *table == source);
        known.next().map(|(_, presence)| *presence)
    };
    let writers: Vec<Option<Presence>> = file.writers.iter().map(|it| presence(*it)).collect();
    let whole = writers
        .iter()
        .any(Option::is_some)
        .then(|| match file.policy {
            Policy::Owned if force => Differing::Overwrite,
            Policy::Owned if writers.iter().all(|it| *it == Some(Presence::New)) => {
                Differing::Conflict
            }
            Policy::Owned | Policy::Once | Policy::Generated => Differing::Keep,
        });
    // A choice is made only once, because the user may have changed it since.
    let is_made = |lines: &Lines| {
        let made = |it: &&Lines| presence(it.source) != Some(Presence::New);
        lines.once
            && file
                .lines
                .iter()
                .filter(made)
                .any(|it| (&it.marker, &it.text) == (&lines.marker, &lines.text))
    };
    let mine = file
        .lines
        .iter()
        .filter(|lines| presence(lines.source).is_some());
    let lines: Vec<_> = mine.filter(|lines| !is_made(lines)).collect();
    (whole.is_some() || !lines.is_empty()).then_some(WantedFile {
        path,
        file,
        whole,
        lines,
    })
}
