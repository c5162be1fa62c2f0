//! Conflicts of a command with the disk, each with its resolution.

use std::fmt;

use crate::edit;
use crate::scaffold::{MarkerLocation, Neighbour};
use kbr_host::diagnostic::Problem;
use kbr_host::lines::Lines;

/// The number of lines that an error shows for a marker.
const SHOWN: usize = 4;

/// A problem with the file at `path`; `what` continues the sentence after the path.
pub fn conflict(path: &str, what: impl fmt::Display, help: impl fmt::Display) -> Problem {
    Problem::new(format_args!("`{path}` {what}")).help(help)
}

pub fn differs(path: &str) -> Problem {
    conflict(
        path,
        "exists and differs",
        "pass `--force` to overwrite the files that differ, or move them away; if kbr created them, restore their table in `PROJECT` instead",
    )
}

/// A file to remove that the user has edited.
pub fn edited(path: &str) -> Problem {
    conflict(
        path,
        "was edited",
        "move anything you want to keep to another file, then pass `--force`",
    )
}

/// An edited file that goes by force.
pub fn discarded(path: &str) -> Problem {
    Problem::new(format_args!(
        "`{path}` was edited: `--force` discards your changes"
    ))
}

/// A file to remove that is a link: its target would go, and the link would stay.
pub fn link(path: &str) -> Problem {
    conflict(
        path,
        "is a link, and kbr removes only files",
        format_args!(
            "remove `{path}`, or replace it with the file itself, then run the command again"
        ),
    )
}

/// Lines to remove that the user has edited; they begin in the line `number`, which is `line`.
pub fn edited_block(path: &str, number: usize, line: &str) -> Problem {
    Problem::new(format_args!(
        "`{path}:{number}` was edited: `{}`",
        line.trim()
    ))
    .help("move anything you want to keep elsewhere, then pass `--force`")
}

/// Edited lines that go by force.
pub fn discarded_block(path: &str, number: usize, line: &str) -> Problem {
    Problem::new(format_args!(
        "`{path}:{number}` was edited: `--force` discards your changes: `{}`",
        line.trim()
    ))
}

/// A line that is not as kbr wrote it, and is left to the user.
pub fn stays(path: &str, number: usize, line: &str) -> Problem {
    Problem::new(format_args!(
        "kept `{path}:{number}`, because you edited it: `{}`",
        line.trim()
    ))
}

/// A block of the user's that loses everything in it.
pub fn emptied(path: &str, number: usize, line: &str) -> Problem {
    Problem::new(format_args!(
        "`{path}:{number}` opens a block that becomes empty: `{}`",
        line.trim()
    ))
}

/// A line to remove in a file that has lost its marker.
pub fn unmarked(path: &str, marker: &str, number: usize, line: &str) -> Problem {
    Problem::new(format_args!(
        "`{path}` has no marker `+kbr:scaffold:{marker}`, so kbr cannot tell whether line {number} is its own: `{}`",
        line.trim()
    ))
    .help(format_args!("remove that line of `{path}` yourself, then run the command again"))
}

/// `markers` are the markers for which there are lines.
pub fn missing_file<'a>(path: &str, markers: impl Iterator<Item = &'a str>) -> Problem {
    let help =
        format!("restore `{path}` (`git checkout -- {path}`), or create it with these markers:");
    let markers = markers.map(|marker| format!("  {}", edit::marker_line(path, marker)));
    conflict(path, "is missing, but kbr must insert lines into it", help)
        .below(markers.collect::<Lines>())
}

/// `found` holds the line numbers of the marker in `text`, `place` where it belongs, and `lines` the lines to insert above it.
pub fn marker(
    path: &str,
    marker: &str,
    found: &[usize],
    place: Option<&Neighbour>,
    text: &str,
    lines: &str,
) -> Problem {
    let line = edit::marker_line(path, marker);
    if found.is_empty() {
        let place = place.map_or_else(
            || "where these lines belong".to_owned(),
            ToString::to_string,
        );
        let help = format!("add this line to `{path}`, {place}:");
        let mut below = Lines::default();
        below.add(format_args!("  {line}"));
        below.add("kbr inserts above it:");
        // A few lines show where they belong; all of them may be a hundred.
        below.extend(lines.lines().take(SHOWN).map(|line| format!("  {line}")));
        match lines.lines().count().saturating_sub(SHOWN) {
            0 => {}
            1 => below.add("  … and one more line"),
            more => below.add(format_args!("  … and {more} more lines")),
        }
        let hidden = edit::hidden(path, text, marker)
            .map(|(number, why)| format!(": the one in line {number} is in {why}"));
        let hidden = hidden.unwrap_or_default();
        let what = format!("has no marker `+kbr:scaffold:{marker}`{hidden}");
        return conflict(path, what, help).below(below);
    }
    let numbers = found
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" and ");
    let help = format!("keep only one of the lines {numbers} of `{path}`; kbr inserts above it:");
    conflict(
        path,
        format_args!("has the marker `+kbr:scaffold:{marker}` in lines {numbers}"),
        help,
    )
    .below(format_args!("  {line}"))
}

/// A marker that was moved to the line `number` of `text`, out of a function or into one.
pub fn misplaced(
    path: &str,
    marker: &str,
    number: usize,
    location: &MarkerLocation,
    text: &str,
) -> Problem {
    let line = edit::marker_line(path, marker);
    let (where_it_is, form) = if location.margin {
        (
            "indented, but its lines are top-level items",
            "without indentation",
        )
    } else {
        (
            "not indented, but its lines belong inside a function",
            "indented",
        )
    };
    let place = location.neighbour_in(text).map_or_else(
        || "back to its original place".to_owned(),
        |neighbour| format!("for example {neighbour}"),
    );
    conflict(
        path,
        format_args!("has the marker `+kbr:scaffold:{marker}` in line {number}, {where_it_is}"),
        format!("move this line of `{path}`, {form}, {place}:"),
    )
    .below(format_args!("  {line}"))
}

pub fn not_utf8(path: &str) -> Problem {
    conflict(
        path,
        "is not UTF-8 text",
        format!("convert `{path}` to UTF-8"),
    )
}

/// A marker in the line `number` of a TOML file that was moved out of its `table`.
pub fn other_table(path: &str, marker: &str, number: usize, table: &str) -> Problem {
    let line = edit::marker_line(path, marker);
    conflict(
        path,
        format_args!(
            "has the marker `+kbr:scaffold:{marker}` in line {number}, outside of the table `[{table}]`"
        ),
        format!("move this line of `{path}` to the end of `[{table}]`, above the next table:"),
    )
    .below(format_args!("  {line}"))
}

/// A file that would no longer be valid in its `format`.
pub fn broken(path: &str, format: &str, error: impl fmt::Display) -> Problem {
    let error = error.to_string();
    let error: Lines = error.lines().map(|line| format!("  {line}")).collect();
    Problem::new(format_args!("`{path}` would not be valid {format}:"))
        .below(error)
        .help(format!("fix `{path}`, or remove the clashing lines"))
}

pub fn no_project() -> Problem {
    conflict(
        "PROJECT",
        "is missing: this folder is not a kbr project",
        "run `kbr init`, or change to the project's folder",
    )
}

pub fn project_exists() -> Problem {
    conflict(
        "PROJECT",
        "already exists: this folder is a kbr project",
        "use another folder, or remove `PROJECT`",
    )
}

/// Two planned paths that are the same file because of a link.
pub fn one_file(path: &str, other: &str) -> Problem {
    conflict(
        path,
        format_args!("is the same file as `{other}`"),
        "replace the link with a file or folder",
    )
}

/// A mistake in the scaffolds.
pub fn mistake(error: &anyhow::Error) -> Problem {
    Problem::new(format_args!("{error:#}")).help("report it with your command and PROJECT")
}
