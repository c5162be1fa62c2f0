//! What an upgrade does to one file.

use std::fmt::Write as _;

use super::merge::{self, Hunk};
use super::{Changes, Sides, Span, comments, entries, renames};
use crate::edited::is_generated;
use crate::library;
use crate::rust::is_rust;
use crate::rust::parse;
use crate::scaffold::Policy;

/// The result for one file.
#[derive(Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It already is as it should be.
    Same,
    /// The user's file, although the release changed it.
    Keep,
    /// The user's file, which has no lines to merge, or too many.
    NotText,
    /// The new release's text.
    Write(String),
    /// The user's text with changes of the new release.
    Merge {
        text: String,
        /// The changes that were left out, as a diff.
        unmerged: String,
    },
    /// The user's text with conflict markers.
    Conflict(String),
    /// kbr removes it.
    Remove,
    /// The user deleted it.
    StaysDeleted,
    /// The new release no longer has it, but the user edited it.
    Dropped,
}

/// The result for the file at `sides.path`.
pub fn resolution(sides: &Sides, span: Span, changes: &Changes) -> Resolution {
    let Some(ours) = sides.ours else {
        return match (sides.ancestor, sides.new) {
            (Some(_), Some(_)) if !library::has(sides.path) => Resolution::StaysDeleted,
            (_, Some(new)) => Resolution::Write(new.text.clone()),
            (_, None) => Resolution::Same,
        };
    };
    let is_pristine = |text: &str| lines(ours).is_some_and(|ours| ours.text == text);
    let is_ancestor = sides
        .ancestor
        .is_some_and(|ancestor| is_pristine(&ancestor.text));
    let Some(new) = sides.new else {
        return if is_ancestor || library::has(sides.path) {
            Resolution::Remove
        } else {
            Resolution::Dropped
        };
    };
    if is_pristine(&new.text) {
        return Resolution::Same;
    }
    let Some(text) = lines(ours) else {
        return Resolution::NotText;
    };
    if is_ancestor || library::has(sides.path) {
        return Resolution::Write(text.ending.apply(&new.text));
    }
    let ancestor = sides.ancestor.map_or("", |ancestor| &ancestor.text);
    let [ancestor, ours] =
        [ancestor, &text.text].map(|it| renames::renewed(sides.path, it, span, changes));
    if ancestor == new.text && ours == text.text {
        return Resolution::Same;
    }
    // `kbr manifests` writes these again, samples included, and cargo the lock.
    let is_generated = new.policy == Policy::Generated || is_generated(ours.as_bytes());
    let is_written_once = sides.ancestor.is_none() && new.policy == Policy::Once;
    if is_generated || is_written_once || sides.path == "Cargo.lock" {
        return Resolution::Keep;
    }
    if merge::is_long(&ours) {
        return Resolution::NotText;
    }
    match merged(sides.path, &ancestor, &ours, &new.text, span) {
        Resolution::Merge {
            text: lines,
            unmerged,
        } => Resolution::Merge {
            text: text.ending.apply(&lines),
            unmerged,
        },
        Resolution::Conflict(lines) => Resolution::Conflict(text.ending.apply(&lines)),
        other => other,
    }
}

fn merged(path: &str, ancestor: &str, ours: &str, new: &str, span: Span) -> Resolution {
    let hunks = comments::resolved(path, merge::merge(ancestor, ours, new));
    let unmerged = String::new();
    if is_users_own(path) && !ancestor.is_empty() {
        let text = merge::with_ours(&hunks);
        if is_rust_broken(path, ours, &text) {
            return Resolution::Merge {
                text: ours.to_owned(),
                unmerged: difference(ancestor, new),
            };
        }
        let unmerged = differences(&hunks);
        return Resolution::Merge { text, unmerged };
    }
    let text = merge::clean(&hunks).filter(|text| is_valid(path, text));
    if let Some(text) = text.or_else(|| by_entries(path, ancestor, ours, new)) {
        return Resolution::Merge { text, unmerged };
    }
    Resolution::Conflict(merge::with_markers(&hunks, span))
}

fn by_entries(path: &str, ancestor: &str, ours: &str, new: &str) -> Option<String> {
    entries::merge(path, ancestor, ours, new).filter(|text| is_valid(path, text))
}

/// Whether the file contains what the operator does, or describes it, rather than what holds the project together. Its merge
/// never has conflict markers.
fn is_users_own(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_wiring = ["main.rs", "lib.rs", "mod.rs", "crdgen.rs"].contains(&name);
    let is_sample = path.starts_with("config/samples/") && name != "kustomization.yaml";
    is_rust(name) && !is_wiring || is_sample || path == "README.md"
}

/// Whether a merge without conflicts made Rust of the user invalid.
fn is_rust_broken(path: &str, ours: &str, merged: &str) -> bool {
    is_rust(path) && parse::is_valid(ours) && !parse::is_valid(merged)
}

/// Whether the text is still TOML or YAML, without entries twice.
fn is_valid(path: &str, text: &str) -> bool {
    let is_syntax = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("toml") => toml::de::DeTable::parse(text).is_ok(),
        Some("yaml" | "yml") => kbr_host::yaml::documents::<serde_json::Value>(text).is_ok(),
        Some("rs") => parse::is_valid(text),
        _ => true,
    };
    is_syntax && !entries::has_duplicates(path, text)
}

/// The changes of the release in lines that the user changed, too.
fn differences(hunks: &[Hunk]) -> String {
    let conflicts = hunks.iter().filter_map(|hunk| match hunk {
        Hunk::Merged(_) => None,
        Hunk::Conflict { ancestor, new, .. } => Some(difference(ancestor, new)),
    });
    conflicts.collect()
}

/// The lines that differ, after `@@`.
fn difference(ancestor: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(ancestor, new);
    let changes = diff.iter_all_changes();
    changes.fold("@@\n".to_owned(), |mut text, change| {
        writeln!(text, "{}{}", change.tag(), change.value().trim_end()).ok();
        text
    })
}

/// A text with line feeds only, and the line endings that it had.
struct LineText {
    text: String,
    ending: Ending,
}

#[derive(Clone, Copy)]
enum Ending {
    Lf,
    Crlf,
}

impl Ending {
    fn apply(self, text: &str) -> String {
        match self {
            Ending::Lf => text.to_owned(),
            Ending::Crlf => text.replace('\n', "\r\n"),
        }
    }
}

/// `None` if it is not text. Only a text whose lines all end alike is converted.
fn lines(bytes: &[u8]) -> Option<LineText> {
    let text = str::from_utf8(bytes).ok()?;
    let count = |ending: &str| text.matches(ending).count();
    let (text, ending) = match count("\r\n") {
        0 => (text.to_owned(), Ending::Lf),
        all if all == count("\n") => (text.replace("\r\n", "\n"), Ending::Crlf),
        _ => (text.to_owned(), Ending::Lf),
    };
    Some(LineText { text, ending })
}
