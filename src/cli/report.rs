//! Says what a command does to each file: talk on stderr, and what a dry run would write on stdout.

use std::fmt::Write as _;

use crate::changes::{Change, Verb};
use crate::output;

/// Prints each change with its verb on stderr.
pub fn report(changes: &[Change]) {
    let lines = changes.iter().fold(String::new(), |mut lines, change| {
        writeln!(lines, "{:>12} {}", verb(change.verb), change.path).ok();
        lines
    });
    output::text(&lines);
}

/// Prints the same, and on stdout what would be written: `path: 20 lines` for a whole file, `path:7: text` for a line that would be
/// line 7.
///
/// # Errors
/// stdout cannot be written.
pub fn dry_run(changes: &[Change]) -> anyhow::Result<()> {
    report(changes);
    output::message("nothing was written: this is a dry run");
    let written = changes.iter().filter(|change| change.writes());
    output::data(&written.map(summary).collect::<String>())
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "create",
        Verb::Insert => "insert",
        Verb::Keep => "keep",
        Verb::Same => "same",
        Verb::Force => "force",
        Verb::Update => "update",
        Verb::Remove => "remove",
    }
}

fn summary(change: &Change) -> String {
    let path = &change.path;
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
        (_, Some(before)) => format!("{path}: {}, instead of {}\n", count(&after), count(&before)),
        (_, None) => format!("{path}: {}\n", count(&after)),
    }
}

fn count(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

/// Lines of `after`, numbered from 1, that `before` does not have there. No line of `before` is missing in `after`.
fn inserted<'a>(before: &'a str, after: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let mut old = before.lines().peekable();
    (1..)
        .zip(after.lines())
        .filter(move |(_, line)| old.next_if_eq(line).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verb: Verb, before: Option<&str>, after: &str, said: &str) {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let change = Change {
            path: "a.rs".into(),
            verb,
            before: before.map(bytes),
            after: bytes(after),
        };
        assert_eq!(summary(&change), said);
    }

    #[test]
    fn a_whole_file_is_counted() {
        check(Verb::Create, None, "a\nb\n", "a.rs: 2 lines\n");
        check(
            Verb::Force,
            Some("a\n"),
            "b\nc",
            "a.rs: 2 lines, instead of 1 line\n",
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
