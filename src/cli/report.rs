//! Reports the changes to files: messages on stderr, and the content of a dry run on stdout.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use kbr_host::lines::{Lines, one_line};
use kbr_host::output;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::library;
use kbr_scaffold::project::KBR;

/// The format of a result that people and programs read: the value of `--output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Prints each change with its verb on stderr.
pub fn report(changes: &[Change]) {
    output::lines(&lines(changes));
}

/// The number of files that are the same up to which each has a line.
const SAME: usize = 10;

/// A line for each file; files of the library share one line for each verb, and so do many that are the same.
fn lines(changes: &[Change]) -> Lines {
    let mut lines = Lines::default();
    let mut reported = Vec::new();
    let is_same =
        |change: &&Change| change.verb == Verb::Same && library::folder_of(&change.path).is_none();
    let same = changes.iter().filter(is_same).count();
    for change in changes {
        let verb = change.verb;
        if same > SAME && is_same(&change) {
            continue;
        }
        let Some(folder) = library::folder_of(&change.path) else {
            lines.add(format_args!("{:>12} {}", name(verb), change.path));
            continue;
        };
        if reported.contains(&(verb, folder)) {
            continue;
        }
        reported.push((verb, folder));
        let is_same =
            |other: &&Change| other.verb == verb && library::folder_of(&other.path) == Some(folder);
        let files = count(changes.iter().filter(is_same).count(), "file");
        let verb_name = name(verb);
        let version = if verb == Verb::Remove {
            String::new()
        } else {
            let package = folder.rsplit('/').next().unwrap_or(folder);
            format!("{package} {KBR}, ")
        };
        lines.add(format_args!("{verb_name:>12} {folder} ({version}{files})"));
    }
    if same > SAME {
        lines.add(format_args!(
            "{:>12} {}",
            name(Verb::Same),
            count(same, "file")
        ));
    }
    lines
}

/// Prints the same, and the content that would be written on stdout: `path: 20 lines` for a whole file, `path:7: text` for a new
/// line 7, `path:7: - text` for an old line 7 that is removed.
///
/// # Errors
/// stdout cannot be written.
pub fn dry_run(changes: &[Change]) -> anyhow::Result<()> {
    report(changes);
    output::message("nothing was written: this is a dry run");
    let written = changes.iter().filter(|change| change.writes());
    let (library, others): (Vec<_>, Vec<_>) =
        written.partition(|change| library::has(&change.path));
    let mut text: String = others.into_iter().map(summary).collect();
    for folder in library::FOLDERS {
        let is_in = |change: &&&Change| library::folder_of(&change.path) == Some(folder);
        let files = library.iter().filter(is_in).count();
        if files > 0 {
            writeln!(text, "{folder}: {}", count(files, "file")).ok();
        }
    }
    output::data(&text)
}

pub fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "create",
        Verb::Insert => "insert",
        Verb::Keep => "keep",
        Verb::Same => "same",
        Verb::Force => "force",
        Verb::Update => "update",
        Verb::Remove => "remove",
        Verb::Merge => "merge",
        Verb::Conflict => "conflict",
        Verb::RemoveLines => "cut",
    }
}

fn summary(change: &Change) -> String {
    let path = &*one_line(&change.path);
    let after = String::from_utf8_lossy(&change.after);
    let before = change.before.as_deref().map(String::from_utf8_lossy);
    match (change.verb, before) {
        (Verb::Remove, _) => format!("{path}: removed\n"),
        (Verb::Insert, Some(before)) => {
            inserted(&before, &after).fold(String::new(), |mut out, (number, line)| {
                writeln!(out, "{path}:{number}: {line}").ok();
                out
            })
        }
        (Verb::RemoveLines, Some(before)) => replaced(path, &before, &after),
        (_, Some(before)) => {
            let (after, before) = (line_count(&after), line_count(&before));
            format!("{path}: {after}, instead of {before}\n")
        }
        (_, None) => format!("{path}: {}\n", line_count(&after)),
    }
}

fn line_count(text: &str) -> String {
    count(text.lines().count(), "line")
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// Lines of `after`, numbered from 1, that `before` does not have there. No line of `before` is missing in `after`.
fn inserted<'a>(before: &'a str, after: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let mut old = before.lines().peekable();
    (1..)
        .zip(after.lines())
        .filter(move |(_, line)| old.next_if_eq(line).is_none())
}

/// The removed lines, numbered as in `before`, and those that moved, numbered as in `after`.
fn replaced(path: &str, before: &str, after: &str) -> String {
    let mut out = String::new();
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        let line = change.value().trim_end_matches(['\r', '\n']);
        let (sign, number) = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => ('-', change.old_index()),
            ChangeTag::Insert => ('+', change.new_index()),
        };
        let number = number.map_or(0, |at| at + 1);
        writeln!(out, "{path}:{number}: {sign} {line}").ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verb: Verb, before: Option<&str>, after: &str, expected: &str) {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let change = Change {
            path: "a.rs".into(),
            verb,
            before: before.map(bytes),
            after: bytes(after),
        };
        assert_eq!(summary(&change), expected);
    }

    #[test]
    fn the_lines_of_a_whole_file_are_counted() {
        check(Verb::Create, None, "a\nb\n", "a.rs: 2 lines\n");
        check(
            Verb::Force,
            Some("a\n"),
            "b\nc",
            "a.rs: 2 lines, instead of 1 line\n",
        );
    }

    #[test]
    fn the_library_is_reported_in_one_line_per_verb() {
        let change = |verb, path: &str| Change {
            path: path.into(),
            verb,
            before: None,
            after: Vec::new(),
        };
        let version = KBR;
        let changes = [
            change(Verb::Create, "a"),
            change(Verb::Create, "third_party/kbr-manager/a"),
            change(Verb::Same, "third_party/kbr-manager/b"),
            change(Verb::Create, "third_party/kbr-manager/c/d"),
            change(Verb::Create, "third_party/kbr-testing/a"),
            change(Verb::Same, "third_party/rustfmt.toml"),
        ];
        assert_eq!(
            lines(&changes).to_string(),
            format!(
                "      create a\n      create third_party/kbr-manager (kbr-manager {version}, 2 files)\n        \
                 same third_party/kbr-manager (kbr-manager {version}, 1 file)\n      \
                 create third_party/kbr-testing (kbr-testing {version}, 1 file)\n        same third_party/rustfmt.toml\n"
            )
        );
    }

    #[test]
    fn removed_lines_are_shown_with_their_old_numbers() {
        check(
            Verb::RemoveLines,
            Some("a\r\nb\r\n  c\r\nd"),
            "a\r\nd",
            "a.rs:2: - b\na.rs:3: -   c\n",
        );
        check(
            Verb::RemoveLines,
            Some("a\nb\nc\n"),
            "b\na\n",
            "a.rs:1: - a\na.rs:3: - c\na.rs:2: + a\n",
        );
    }

    #[test]
    fn inserted_lines_are_shown_with_their_numbers() {
        check(
            Verb::Insert,
            Some("a\nb\n"),
            "x\na\n  y\nb\n",
            "a.rs:1: x\na.rs:3:   y\n",
        );
        check(Verb::Insert, Some("a\r\nb"), "a\r\nx\r\nb", "a.rs:2: x\n");
        check(Verb::Insert, Some("a"), "a\n\nb\n", "a.rs:2: \na.rs:3: b\n");
    }
}
