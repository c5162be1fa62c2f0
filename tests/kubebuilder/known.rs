//! `differences.txt`: the differences that have a reason.

use std::cell::Cell;

use crate::compare::Objects;

/// A line of the file, with whether it was needed.
struct Row {
    line: &'static str,
    used: Cell<bool>,
}

/// The rows of the file.
pub struct Known {
    /// Patterns of differences, in which `*` stands for any text.
    differences: Vec<Row>,
    /// `Service P-webhook-service = Service P-webhook`: objects with another name in the project in Rust. `*` on the left is the same text
    /// as the last `*` on the right.
    counterparts: Vec<Row>,
}

impl Known {
    /// Reads the file: the lines without an indentation are reasons.
    pub fn read() -> Self {
        Self::of(include_str!("differences.txt"))
    }

    /// The rows of the file, and those that only other projects than kubebuilder's need.
    pub fn of_others() -> Self {
        Self::of(concat!(
            include_str!("differences.txt"),
            include_str!("others.txt")
        ))
    }

    fn of(text: &'static str) -> Self {
        let rows = text.lines().filter_map(|line| line.strip_prefix("    "));
        let row = |line| Row {
            line,
            used: Cell::new(false),
        };
        let (counterparts, differences) = rows.partition(|line| line.contains(" = "));
        let rows = |lines: Vec<&'static str>| lines.into_iter().map(row).collect();
        Known {
            differences: rows(differences),
            counterparts: rows(counterparts),
        }
    }

    /// Whether a row has this difference.
    pub fn has(&self, difference: &str) -> bool {
        let mut rows = self.differences.iter();
        let row = rows.find(|row| matches(row.line, difference));
        row.inspect(|row| row.used.set(true)).is_some()
    }

    /// What is lost without a word: of the differences, those of which neither the file nor the report of the import says anything.
    pub fn silent(&self, differences: Vec<String>, report: &str) -> Vec<String> {
        let is_new = |it: &String| it.contains(": - => ") || it.contains(": null => ");
        let is_loss = |it: &String| !it.ends_with(": only in Rust") && !is_new(it);
        let is_silent = |it: &String| is_loss(it) && !self.has(it) && !is_said(it, report);
        differences.into_iter().filter(is_silent).collect()
    }

    /// The object of the project in Rust for one of the project in Go: of the same kind and name, or as a row says.
    pub fn counterpart(&self, key: &str, ours: &Objects) -> Option<String> {
        if ours.contains_key(key) {
            return Some(key.to_owned());
        }
        for row in &self.counterparts {
            let (theirs, pattern) = row.line.split_once(" = ")?;
            let Some(word) = captured(theirs, key) else {
                continue;
            };
            let pattern = match pattern.rsplit_once('*') {
                Some((start, end)) => format!("{start}{word}{end}"),
                None => pattern.to_owned(),
            };
            let mut found = ours.keys().filter(|key| matches(&pattern, key));
            if let (Some(one), None) = (found.next(), found.next()) {
                row.used.set(true);
                return Some(one.clone());
            }
        }
        None
    }

    /// The rows that no project needed.
    pub fn unused(&self) -> Vec<&'static str> {
        let rows = self.differences.iter().chain(&self.counterparts);
        rows.filter(|row| !row.used.get())
            .map(|row| row.line)
            .collect()
    }
}

/// Whether a text has the form of a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| matches(rest, &text[at..]))
        }),
    }
}

/// What the `*` of a pattern stands for; nothing in one without it.
fn captured<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        None => (pattern == text).then_some(""),
        Some((start, end)) => text.strip_prefix(start)?.strip_suffix(end),
    }
}

/// Whether the report names the object of a difference, the field, or the path of a webhook.
fn is_said(difference: &str, report: &str) -> bool {
    let (place, values) = difference.split_once(": ").unwrap_or((difference, ""));
    let path = values.split("\"path\":\"").nth(1);
    let path = path.and_then(|it| it.split('"').next());
    if path.is_some_and(|it| report.contains(&format!("`{it}`"))) {
        return true;
    }
    let name = place.split(' ').nth(1).unwrap_or_default();
    let name = name.strip_prefix("P-").unwrap_or(name);
    let field = place
        .rsplit('/')
        .find(|it| it.parse::<usize>().is_err())
        .unwrap_or_default();
    let has = |text: &str| text.len() > 2 && report.contains(text);
    has(name) && !difference.starts_with("Deployment") || place.contains('/') && has(field)
}
